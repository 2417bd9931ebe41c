/** Muting and bypassing: what commands of both do. */

import type { NodeState } from "../model/document";
import { setNodeState } from "../model/edit";
import type { TextKey } from "../texts";
import { apply, chosenNodes, here } from "./here";

/** Give the chosen nodes the state; if all of them have it, none. */
export function toggleState(state: NodeState, title: TextKey): void {
  const at = here();
  if (at === null) return;
  const nodes = chosenNodes(at);
  const haveAll = nodes.every((id) => at.scope.nodes[id]?.state === state);
  apply(title, setNodeState(at.scopeId, nodes, haveAll ? null : state));
}
