/**
 * What a run of the active document would do, asked 300 ms after the last edit that can change it, and what is wrong with it.
 *
 * The older request is dropped. Until the answer comes, an edited node and all below it are marked stale at once.
 */

import { create } from "zustand";

import { Problem, planWorkflow } from "../api/client";
import type { PlanView, PlannedNode, WorkflowProblem } from "../api/jobs";
import type { WorkflowDocument } from "../model/document";
import { onConnected } from "./connection";
import { activeDocument, useDocuments } from "./documents";
import { isFinal } from "./run_events";
import { useShown } from "./shown";
import { keyedText, sharesKeys, stalePaths } from "./stale";

interface PlanState {
  /** The draft that all of this is about. */
  readonly draft: string;
  /** The document that was planned last (also in vain), to compare with. */
  readonly planned: WorkflowDocument | null;
  readonly plan: PlanView | null;
  readonly nodes: ReadonlyMap<string, PlannedNode>;
  /** Nodes edited since, and all below them. */
  readonly stale: ReadonlySet<string>;
  readonly problems: readonly WorkflowProblem[];
  /** Why there is no plan, if not for problems of the workflow: the server's sentence. */
  readonly failure: string | null;
  readonly isAsking: boolean;
}

const NO_PLAN: Omit<PlanState, "draft"> = {
  planned: null, plan: null, nodes: new Map(), stale: new Set(), problems: [], failure: null, isAsking: false,
};

export const usePlan = create<PlanState>()(() => ({ draft: "", ...NO_PLAN }));

const PLAN_WAIT_MS = 300;
const AGAIN_MS = 3_000;

/** Drafts that are open keep their plan while another is shown. */
const kept = new Map<string, PlanState>();
let timer: ReturnType<typeof setTimeout> | undefined;
let request: AbortController | null = null;
let seen: { draft: string; document: WorkflowDocument; text: string } | null = null;

/** Look at the active document: mark what an edit made stale, and plan anew if it can change anything. */
function look(): void {
  const active = activeDocument();
  if (active === undefined) {
    if (seen !== null) changeDraft("");
    seen = null;
    return;
  }
  const document = active.history.document;
  if (seen?.draft === active.id && (seen.document === document || sharesKeys(seen.document, document))) return;
  const text = keyedText(document);
  if (seen?.draft === active.id && seen.text === text) {
    seen = { draft: active.id, document, text };
    return;
  }
  if (seen?.draft !== active.id) changeDraft(active.id);
  seen = { draft: active.id, document, text };
  const { planned, stale } = usePlan.getState();
  const isPlanned = planned !== null && keyedText(planned) === text;
  const now = planned === null ? stale : isPlanned ? new Set<string>() : stalePaths(document, planned);
  usePlan.setState({ stale: now });
  if (isPlanned && !usePlan.getState().isAsking) cancel();
  else schedule(planned === null ? 0 : PLAN_WAIT_MS);
}

function changeDraft(draft: string): void {
  const before = usePlan.getState();
  if (before.draft !== "") kept.set(before.draft, { ...before, isAsking: false });
  const open = new Set(useDocuments.getState().open.map((one) => one.id));
  for (const id of kept.keys()) if (!open.has(id)) kept.delete(id);
  cancel();
  usePlan.setState(kept.get(draft) ?? { draft, ...NO_PLAN });
}

function cancel(): void {
  clearTimeout(timer);
  request?.abort();
  request = null;
  if (usePlan.getState().isAsking) usePlan.setState({ isAsking: false });
}

function schedule(waitMs: number): void {
  cancel();
  timer = setTimeout(() => void plan(), waitMs);
}

/** Plan again soon: what is remembered has changed, or the server is back. */
function planAgain(): void {
  if (activeDocument() !== undefined) schedule(PLAN_WAIT_MS);
}

async function plan(): Promise<void> {
  const active = activeDocument();
  if (active === undefined) return;
  const document = active.history.document;
  if (Object.keys(document.nodes).length === 0) {
    usePlan.setState({ ...NO_PLAN, draft: active.id, planned: document });
    return;
  }
  const mine = (request = new AbortController());
  usePlan.setState({ isAsking: true });
  try {
    const found = await planWorkflow({ workflow: document }, { signal: mine.signal });
    if (request === mine) settle(document, { plan: found, nodes: new Map(found.nodes.map((node) => [node.id, node])), problems: [], failure: null });
  } catch (error) {
    if (request !== mine) return;
    if (error instanceof Problem && error.code === "invalid_workflow") settle(document, refused(error));
    else if (error instanceof Problem && error.isPassing) {
      usePlan.setState({ isAsking: false, failure: error.status === 0 ? null : error.detail });
      timer = setTimeout(() => void plan(), AGAIN_MS);
    } else settle(document, { plan: null, nodes: new Map(), problems: [], failure: error instanceof Error ? error.message : String(error) });
  }
}

function refused(error: Problem): Pick<PlanState, "plan" | "nodes" | "problems" | "failure"> {
  const first = { code: error.code, message: error.detail, node: error.node ?? null, port: error.port ?? null };
  const problems = error.problems.length > 0 ? error.problems : [first];
  return { plan: null, nodes: new Map(), problems, failure: null };
}

function settle(planned: WorkflowDocument, found: Pick<PlanState, "plan" | "nodes" | "problems" | "failure">): void {
  request = null;
  usePlan.setState({ ...found, planned, stale: new Set(), isAsking: false });
}

/** Problems that the server told when it was asked to run the document. */
export function showProblems(draft: string, problems: readonly WorkflowProblem[]): void {
  if (usePlan.getState().draft === draft) usePlan.setState({ problems });
}

/** For components: what would happen to a node. */
export function usePlannedNode(path: string): PlannedNode | undefined {
  return usePlan((state) => state.nodes.get(path));
}

/** For components: whether the node was touched by an edit that is not planned yet. */
export function useIsStale(path: string): boolean {
  return usePlan((state) => state.stale.has(path));
}

/** For components: what is wrong with a node, or with the nodes inside an instance. */
export function useNodeProblem(path: string): WorkflowProblem | undefined {
  return usePlan((state) => state.problems.find((problem) => problem.node === path || problem.node?.startsWith(`${path}/`) === true));
}

/** For components: what is wrong with one port. */
export function usePortProblem(path: string, port: string): WorkflowProblem | undefined {
  return usePlan((state) => state.problems.find((problem) => problem.node === path && problem.port === port));
}

useDocuments.subscribe(look);
useShown.subscribe((state, before) => {
  // What is remembered is more than before.
  if (state.job === before.job && state.run !== undefined && before.run !== undefined && isFinal(state.run.state) && !isFinal(before.run.state)) planAgain();
});
let wasConnected = false;
onConnected(() => {
  const { plan: known, problems } = usePlan.getState();
  // A server that comes back may know other node types, and remember other results.
  if (wasConnected) kept.clear();
  if (wasConnected || (known === null && problems.length === 0)) planAgain();
  wasConnected = true;
});
look();
