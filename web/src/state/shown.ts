/**
 * What of a run stands on the nodes of the active document: its rows, but only where a node is still what the job ran.
 *
 * One small store, so that a component of a node subscribes to its own row and to nothing else.
 */

import { create } from "zustand";

import type { NodeRow } from "../api/jobs";
import type { WorkflowDocument } from "../model/document";
import { withValues } from "../model/values";
import { activeDocument, useDocuments } from "./documents";
import { type DraftMemory, NOTHING_REMEMBERED } from "./memory";
import { type Run, isFinal } from "./run_events";
import { usePreferences } from "./preferences";
import { fetchDocument, followJob, memoryOf, shownJob, useRuns, valuesSetFor } from "./runs";
import { sharesKeys, stalePaths } from "./stale";

interface Shown {
  readonly job: string | null;
  readonly run: Run | undefined;
  /** Nodes that are no longer what the job ran; null: not known yet, so nothing is shown. */
  readonly stale: ReadonlySet<string> | null;
}

export const useShown = create<Shown>()(() => ({ job: null, run: undefined, stale: null }));

let unfollow: (() => void) | null = null;
let followed: string | null = null;
let compared: { now: WorkflowDocument; frozen: WorkflowDocument; memory: DraftMemory; stale: ReadonlySet<string> } | null = null;

function refresh(): void {
  const active = activeDocument();
  const { runs, documents } = useRuns.getState();
  const memory = active === undefined ? NOTHING_REMEMBERED : memoryOf(active.id);
  const job = shownJob(memory, runs);
  if (job !== followed) follow(job);
  const frozen = job === null ? undefined : documents.get(job);
  if (job !== null && frozen === undefined) fetchDocument(job);
  const stale = active === undefined || frozen === undefined || job === null ? null : compare(active.history.document, frozen, memory, job);
  const run = job === null ? undefined : useRuns.getState().runs.get(job);
  const before = useShown.getState();
  if (before.job !== job || before.run !== run || before.stale !== stale) useShown.setState({ job, run, stale });
}

function follow(job: string | null): void {
  unfollow?.();
  followed = job;
  unfollow = job === null ? null : followJob(job, true);
}

function compare(now: WorkflowDocument, frozen: WorkflowDocument, memory: DraftMemory, job: string): ReadonlySet<string> {
  if (compared !== null && compared.frozen === frozen && compared.memory === memory && sharesKeys(compared.now, now)) return compared.stale;
  const stale = stalePaths(withValues(now, valuesSetFor(memory, job)), frozen);
  compared = { now, frozen, memory, stale };
  return stale;
}

/** For components: how far a node of the active document is in the run that is shown; only its own changes render. */
export function useNodeRun(path: string): NodeRow | undefined {
  return useShown((state) => (state.stale === null || state.stale.has(path) ? undefined : state.run?.rows.get(path)));
}

/** For components: how far the nodes inside an instance are, "state done total"; "" if none of them is in the run. */
export function useInsideRun(path: string): string {
  return useShown((state) => (state.run === undefined || state.stale === null || state.stale.has(path) ? "" : insideOf(state.run).get(path) ?? ""));
}

const WORST_FIRST = ["failed", "running", "cancelled", "waiting", "skipped", "done", "cached"] as const;

/** Found once for each state of a run: every node on the screen asks for it at every message. */
const insides = new WeakMap<Run, ReadonlyMap<string, string>>();

/** How far the nodes inside each instance are, by the instance's run id. */
function insideOf(run: Run): ReadonlyMap<string, string> {
  const known = insides.get(run);
  if (known !== undefined) return known;
  const states = new Map<string, NodeRow["state"][]>();
  for (const row of run.rows.values()) {
    for (let end = row.id.indexOf("/"); end > 0; end = row.id.indexOf("/", end + 1)) {
      const instance = row.id.slice(0, end);
      const list = states.get(instance);
      if (list === undefined) states.set(instance, [row.state]);
      else list.push(row.state);
    }
  }
  const found = new Map([...states].map(([instance, some]) => [instance, summary(some)]));
  insides.set(run, found);
  return found;
}

function summary(states: readonly NodeRow["state"][]): string {
  const done = states.filter((state) => state !== "waiting" && state !== "running").length;
  const worst = WORST_FIRST.find((state) => states.includes(state)) ?? "done";
  const state = worst === "waiting" && done > 0 ? "running" : worst;
  return `${state} ${done} ${states.length}`;
}

/** For a picture of all nodes of a scope: a line "running ID" or "failed ID" for each such one; the same text until that changes. */
export function useMarks(instances: readonly string[]): string {
  return useShown(({ run, stale }) => (run === undefined || stale === null ? "" : marksOf(run.rows, stale, instances)));
}

/** An instance is marked for the nodes inside it. */
export function marksOf(rows: Run["rows"], stale: ReadonlySet<string>, instances: readonly string[]): string {
  const prefix = instances.map((id) => `${id}/`).join("");
  const found = new Map<string, string>();
  for (const { id: path, state } of rows.values()) {
    if ((state !== "running" && state !== "failed") || !path.startsWith(prefix) || stale.has(path)) continue;
    const [id = ""] = path.slice(prefix.length).split("/", 1);
    if (found.get(id) !== "failed") found.set(id, state);
  }
  return [...found].map(([id, state]) => `${state} ${id}`).join("\n");
}

/** For components: whether a node runs or has run in a job that is still under way. */
export function useHasUnfinished(path: string): boolean {
  return useShown((state) => {
    if (state.run === undefined || isFinal(state.run.state) || state.stale?.has(path) !== false) return false;
    const row = state.run.rows.get(path)?.state;
    return row === "running" || row === "done";
  });
}

/** For components: whether the node was run by the job that is shown and is no longer what it was then. */
export function useIsOutdated(path: string): boolean {
  return useShown((state) => state.stale?.has(path) === true && state.run?.rows.has(path) === true);
}

useDocuments.subscribe(refresh);
useRuns.subscribe(refresh);
usePreferences.subscribe((state, before) => {
  if (state.previews === before.previews || followed === null) return;
  const job = followed;
  follow(null);
  follow(job);
});
refresh();
