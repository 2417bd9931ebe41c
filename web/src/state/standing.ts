/** How a node stands: what is wrong with it, how far its run is, whether it was edited since, or what a run would do. */

import type { NodeRow, PlannedNode, WorkflowProblem } from "../api/jobs";
import { useIsStale, useNodeProblem, usePlan, usePlannedNode } from "./plan";
import { useIsOutdated, useNodeRun, useShown } from "./shown";

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

/** The same for those who draw without React. */
export function standingOf(path: string): Standing | null {
  const { problems, stale, nodes } = usePlan.getState();
  const { stale: outdated, run } = useShown.getState();
  const row = outdated === null || outdated.has(path) ? undefined : run?.rows.get(path);
  const problem = problems.find((one) => one.node === path || one.node?.startsWith(`${path}/`) === true);
  return judge(problem, row, stale.has(path), nodes.get(path), outdated?.has(path) === true && run?.rows.has(path) === true);
}
