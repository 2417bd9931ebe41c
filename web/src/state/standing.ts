/** How a node stands: what is wrong with it, how far its run is, whether it was edited since, or what a run would do. */

import type { NodeRow, PlannedNode, WorkflowProblem } from "../api/jobs";
import { useIsStale, useNodeProblem, usePlannedNode } from "./plan";
import { useIsOutdated, useNodeRun } from "./shown";

export type Standing =
  | { readonly kind: "problem"; readonly problem: WorkflowProblem }
  | { readonly kind: "run"; readonly row: NodeRow }
  | { readonly kind: "stale" }
  | { readonly kind: "planned"; readonly node: PlannedNode };

function judge(
  problem: WorkflowProblem | undefined, row: NodeRow | undefined, isStale: boolean, node: PlannedNode | undefined, isOutdated: boolean,
): Standing | null {
  if (problem !== undefined) return { kind: "problem", problem };
  if (row !== undefined) return { kind: "run", row };
  if (isStale) return { kind: "stale" };
  if (node !== undefined) return { kind: "planned", node };
  return isOutdated ? { kind: "stale" } : null;
}

/** For components: how a node of the active document stands; renders again only when that changes. */
export function useStanding(path: string): Standing | null {
  return judge(useNodeProblem(path), useNodeRun(path), useIsStale(path), usePlannedNode(path), useIsOutdated(path));
}
