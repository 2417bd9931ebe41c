/**
 * Places for nodes, left to right along their links, made in a worker, so that the page stays free.
 *
 * Dagre up to 300 nodes, above that the pass of our own: dagre takes half a minute for 2,000 (measured).
 */

import type { Places } from "./align";
import { type LayoutRequest, layered } from "./columns";
import workerUrl from "./layout.worker.ts?worker&url";

export { type LayoutNode, type LayoutRequest, layered } from "./columns";

/** Places for `moveItems`. Where there are no workers (tests) it is our own pass. Rejects if the worker fails. */
export function arrange(request: LayoutRequest): Promise<Places> {
  if (typeof Worker === "undefined") return Promise.resolve(layered(request));
  const worker = new Worker(trusted(workerUrl), { type: "module" });
  return new Promise<Places>((resolve, reject) => {
    worker.onmessage = (event: MessageEvent<Places>) => resolve(event.data);
    worker.onerror = (event) => reject(new Error(`The layout could not be made: ${event.message}`));
    worker.postMessage(request);
  }).finally(() => worker.terminate());
}


interface Policy {
  createScriptURL(url: string): string;
}
/** Not among TypeScript's own types yet. */
const factory = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }).trustedTypes;
const policy = factory?.createPolicy("latentgraph-layout", { createScriptURL: (url) => url });

/** The server's policy lets scripts be loaded only from addresses that are vouched for; this one is of our own build. */
function trusted(url: string): string {
  return policy?.createScriptURL(url) ?? url;
}
