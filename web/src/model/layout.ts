/**
 * Places for nodes, left to right along their links, made in a worker, so that the page stays free.
 *
 * Dagre up to 300 nodes, above that the pass of our own: dagre takes half a minute for 2,000 (measured).
 */

import type { Places } from "./align";
import type { LayoutRequest } from "./columns";
import workerUrl from "./layout.worker.ts?worker&url";

/** Places for `moveItems`. Where there are no workers (tests) it is our own pass. Rejects if the worker fails. */
export async function arrange(request: LayoutRequest): Promise<Places> {
  if (typeof Worker === "undefined") return (await import("./stacks")).withStacks((await import("./columns")).layered)(request);
  const worker = new Worker(trusted(workerUrl), { type: "module" });
  return new Promise<Places>((resolve, reject) => {
    worker.onmessage = (event: MessageEvent<Places>) => resolve(event.data);
    worker.onerror = (event) => reject(new Error(`The layout could not be made: ${event.message}`));
    worker.postMessage(request);
  }).finally(() => worker.terminate());
}


/** What the DOM's types do not know yet. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** The server's policy takes no plain text as the address of a script: a rule of ours vouches for the one of the worker. */
function trusted(url: string): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes; // not in every browser
  return types === undefined ? url : types.createPolicy("layout", { createScriptURL: () => workerUrl }).createScriptURL(url);
}
