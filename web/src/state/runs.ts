/**
 * The jobs that this page looks at, how far their nodes are, and which job each draft shows.
 *
 * A draft shows the job that it was opened from, or else one of those sent together last: the one under way, else the one
 * that ended last. `state/shown.ts` says what of it stands on the nodes.
 */

import { create } from "zustand";

import { Problem, readJob } from "../api/client";
import { type JobView, readJobDocument } from "../api/jobs";
import type { SocketEvent } from "../api/socket";
import type { WorkflowDocument } from "../model/document";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { announce } from "./announce";
import { onConnected, onSocketEvents, socket } from "./connection";
import { showJob } from "./log";
import { type DraftMemory, NOTHING_REMEMBERED, type RememberedJob, remember, remembered } from "./memory";
import { usePreferences } from "./preferences";
import { hidePreview, hidePreviews, showPreview } from "./previews";
import { type Run, applyEvents, isFinal, runOfView } from "./run_events";

interface Runs {
  readonly runs: ReadonlyMap<string, Run>;
  /** Frozen copies of documents, by job, as far as they were asked for. */
  readonly documents: ReadonlyMap<string, WorkflowDocument>;
  readonly drafts: ReadonlyMap<string, DraftMemory>;
}

export const useRuns = create<Runs>()(() => ({ runs: new Map(), documents: new Map(), drafts: new Map() }));

/** How many components and stores look at a job. */
const followers = new Map<string, number>();
const asked = new Set<string>();
const MOST_KEPT = 400;

/** What is remembered of a draft; read from the browser's store the first time. */
export function memoryOf(draft: string): DraftMemory {
  if (draft === "") return NOTHING_REMEMBERED;
  const known = useRuns.getState().drafts.get(draft);
  if (known !== undefined) return known;
  const found = remembered(draft);
  useRuns.setState((state) => ({ drafts: new Map(state.drafts).set(draft, found) }));
  if (socket.isOpen) void catchUp();
  return found;
}

export function changeMemory(draft: string, change: (memory: DraftMemory) => DraftMemory): void {
  const kept = remember(draft, change(memoryOf(draft)));
  useRuns.setState((state) => ({ drafts: new Map(state.drafts).set(draft, kept) }));
}

/** The job that a draft shows. */
export function shownJob(memory: DraftMemory, runs: ReadonlyMap<string, Run>): string | null {
  const last = memory.jobs.at(-1);
  if (last === undefined) return memory.opened;
  const group = memory.jobs.filter((job) => job.batch === last.batch);
  const stateOf = (job: RememberedJob): string => runs.get(job.id)?.state ?? "unknown";
  const running = group.find((job) => stateOf(job) === "running");
  const ended = group.findLast((job) => ["done", "failed"].includes(stateOf(job)));
  return (running ?? ended ?? group.find((job) => stateOf(job) === "queued") ?? last).id;
}

/** The values that were set for one job of a draft alone. */
export function valuesSetFor(memory: DraftMemory, job: string): RememberedJob["set"] {
  return memory.jobs.find((one) => one.id === job)?.set ?? {};
}

/** Take in a job that was accepted. */
export function enterJob(view: JobView): void {
  useRuns.setState((state) => {
    const known = state.runs.get(view.id);
    return known !== undefined && known.rows.size > 0 ? {} : { runs: new Map(state.runs).set(view.id, runOfView(view)) };
  });
}

/** Follow a job until the returned function is called. Followed by two, it is asked for once. */
export function followJob(id: string, previews = false): () => void {
  followers.set(id, (followers.get(id) ?? 0) + 1);
  const run = useRuns.getState().runs.get(id);
  const isOver = run !== undefined && isFinal(run.state) && run.rows.size > 0;
  if (!isOver && (previews || !socket.follows(id))) socket.follow(id, previews && usePreferences.getState().previews);
  let isLeft = false;
  return () => {
    if (isLeft) return;
    isLeft = true;
    const left = (followers.get(id) ?? 1) - 1;
    if (left > 0) {
      followers.set(id, left);
      return;
    }
    followers.delete(id);
    socket.leave(id);
    hidePreviews(id);
    dropOld();
  };
}

/** Ask for the frozen copy of a job, once. */
export function fetchDocument(id: string): void {
  if (asked.has(id) || useRuns.getState().documents.has(id)) return;
  asked.add(id);
  readJobDocument(id).then(
    (document) => {
      asked.delete(id);
      useRuns.setState((state) => ({ documents: new Map(state.documents).set(id, document) }));
    },
    (error: unknown) => {
      asked.delete(id);
      if (error instanceof Problem && error.status === 404) forgetJob(id);
    },
  );
}

/** A job is gone from the server: show it no more. */
export function forgetJob(id: string): void {
  useRuns.setState((state) => {
    const runs = new Map(state.runs);
    runs.delete(id);
    return { runs };
  });
  for (const [draft, memory] of useRuns.getState().drafts) {
    if (memory.opened !== id && !memory.jobs.some((job) => job.id === id)) continue;
    changeMemory(draft, (before) => ({
      ...before, opened: before.opened === id ? null : before.opened, jobs: before.jobs.filter((job) => job.id !== id),
    }));
  }
}

/** Take what the socket told since the last frame: one commit for all of it. */
export function takeEvents(events: readonly SocketEvent[]): void {
  const byJob = new Map<string, SocketEvent[]>();
  for (const event of events) {
    if (event.event === "error" && event.job !== undefined && event["code"] === "not_found") forgetJob(event.job);
    else if (event.event === "preview") takePreview(event);
    else if (event.stream === "all") takeOfAll(event, byJob);
    else if (event.stream !== undefined) append(byJob, event.stream, event);
  }
  if (byJob.size === 0) return;
  const before = useRuns.getState().runs;
  const runs = new Map(before);
  for (const [job, told] of byJob) runs.set(job, applyEvents(before.get(job), job, told));
  useRuns.setState({ runs });
  for (const job of byJob.keys()) tellChange(before.get(job), runs.get(job));
}

/** Jobs that are known but not followed change by what "all" tells of them. */
function takeOfAll(event: SocketEvent, byJob: Map<string, SocketEvent[]>): void {
  const job = event.job;
  if (job === undefined) return;
  if (event.event === "deleted") forgetJob(job);
  else if (!socket.follows(job) && useRuns.getState().runs.has(job) && (event.event === "job" || event.event === "end")) append(byJob, job, event);
}

function append(byJob: Map<string, SocketEvent[]>, job: string, event: SocketEvent): void {
  const list = byJob.get(job);
  if (list === undefined) byJob.set(job, [event]);
  else list.push(event);
  if (event.event === "end") hidePreviews(job);
  if (event.event === "node" && event["state"] !== "running" && event["state"] !== "done") hidePreview(job, String(event["node"]));
}

function takePreview(event: SocketEvent): void {
  const image = event["image"];
  if (event.job !== undefined && image instanceof Uint8Array) showPreview(event.job, String(event["node"]), image);
}

/** Say starts and ends of this page's own jobs to screen readers. */
function tellChange(before: Run | undefined, after: Run | undefined): void {
  if (after === undefined || before === undefined || before.state === after.state || !isOwn(after.id)) return;
  if (after.state === "running") announce(t("run.said_started"));
  else if (after.state === "done") announce(t("run.said_done", { seconds: (after.seconds ?? 0).toFixed(1) }));
  else if (after.state === "failed") tellFailure(after);
  else if (after.state === "cancelled") announce(t("run.said_cancelled"));
}

function tellFailure(run: Run): void {
  const text = t("run.said_failed", { detail: run.problem?.detail ?? "" });
  announce(text);
  say(text, { kind: "bad", action: { title: t("run.node_in_log"), run: () => showJob(run.id) } });
}

/** Whether one of this page's drafts sent the job, alone or in a sweep. */
export function isOwn(id: string): boolean {
  return [...useRuns.getState().drafts.values()].some(
    (memory) => memory.jobs.some((job) => job.id === id) || memory.sweeps.some((sweep) => sweep.jobs.includes(id)),
  );
}

function dropOld(): void {
  const { runs, documents } = useRuns.getState();
  if (runs.size <= MOST_KEPT) return;
  const kept = new Map(runs);
  const keptDocuments = new Map(documents);
  for (const id of runs.keys()) {
    if (kept.size <= MOST_KEPT) break;
    if (followers.has(id)) continue;
    kept.delete(id);
    keptDocuments.delete(id);
  }
  useRuns.setState({ runs: kept, documents: keptDocuments });
}

/** Ask for jobs that may have changed unheard: those sent together last, and those that had not ended, unless they are followed. */
export async function catchUp(): Promise<void> {
  const { drafts, runs } = useRuns.getState();
  const ids = new Set([...runs.values()].filter((run) => !isFinal(run.state)).map((run) => run.id));
  for (const memory of drafts.values()) {
    const batch = memory.jobs.at(-1)?.batch;
    for (const job of memory.jobs) if (job.batch === batch && !runs.has(job.id)) ids.add(job.id);
  }
  for (const id of ids) if (!socket.follows(id)) await readAnew(id);
}

async function readAnew(id: string): Promise<void> {
  try {
    const run = runOfView(await readJob(id));
    if (!socket.follows(id)) useRuns.setState((state) => ({ runs: new Map(state.runs).set(id, run) }));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) forgetJob(id);
  }
}

onSocketEvents(takeEvents);
onConnected(() => void catchUp());
