/** The worker behind `arrange`: one request in, places out. */

import { type LayoutRequest, layered } from "./columns";
import { byDagre } from "./dagre";
import { withStacks } from "./stacks";

const MOST_FOR_DAGRE = 300;

const worker = self as unknown as DedicatedWorkerGlobalScope; // `self` is typed as the page's window

worker.onmessage = (event: MessageEvent<LayoutRequest>) => {
  const request = event.data;
  worker.postMessage(withStacks(request.nodes.length > MOST_FOR_DAGRE ? layered : byDagre)(request));
};
