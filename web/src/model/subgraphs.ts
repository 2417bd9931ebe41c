import type { ScopeId } from "./document";
import type { Edit } from "./history";

/** Put nodes into a new subgraph (named as near to `name` as can be) with one instance in their place. */
export function makeSubgraph(scope: ScopeId, ids: Iterable<string>, name: string): Edit {
  throw new Error(`soon: ${scope} ${[...ids].length} ${name}`);
}

/** Put the nodes of an instance in its place; the subgraph goes with its last instance. */
export function unpack(scope: ScopeId, id: string): Edit {
  throw new Error(`soon: ${scope} ${id}`);
}
