/**
 * Places for nodes, left to right along their links, made in a worker, so that the page stays free.
 *
 * Dagre up to 300 nodes, above that the pass of our own: dagre takes half a minute for 2,000 (measured).
 */

import type { Places } from "./align";
import { type LayoutRequest, layered } from "./columns";

export { type LayoutNode, type LayoutRequest, layered } from "./columns";

/** Places for `moveItems`. Where there are no workers (tests) it is our own pass. Rejects if the worker fails. */
export function arrange(request: LayoutRequest): Promise<Places> {
  if (typeof Worker === "undefined") return Promise.resolve(layered(request));
  const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  return new Promise<Places>((resolve, reject) => {
    worker.onmessage = (event: MessageEvent<Places>) => resolve(event.data);
    worker.onerror = (event) => reject(new Error(`The layout could not be made: ${event.message}`));
    worker.postMessage(request);
  }).finally(() => worker.terminate());
}

