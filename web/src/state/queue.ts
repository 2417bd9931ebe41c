/** The queue of the server: what waits, runs and has ended, of all clients. Told by the stream "all"; lists are asked for. */

import { create } from "zustand";

import { Problem, type Schemas, cancelJob, deleteJob, listJobs, moveJob, pauseQueue, readSession, resumeQueue, retryJob, sentence } from "../api/client";
import { type JobState, type QueueView, readJobDocument } from "../api/jobs";
import { type SocketEvent, told } from "../api/socket";
import { say } from "../ui/toasts";
import { onConnected, onSocketEvents, socket } from "./connection";
import { newId, useDocuments } from "./documents";
import { isFinal } from "./run_events";
import { changeMemory, enterJob, forgetJob, isOwn, memoryOf, useRuns } from "./runs";

/** What is known of a job; those told by the socket have less than those of the list. */
export type QueueJob = Pick<Schemas["JobSummary"], "id" | "state"> & Partial<Schemas["JobSummary"]>;

interface Queue {
  readonly view: QueueView | null;
  readonly jobs: ReadonlyMap<string, QueueJob>;
  /** Whether there are more ended ones than are known: the place to go on from. */
  readonly next: number | null;
  readonly isLoaded: boolean;
  /** The name under which the server counts this browser's jobs. */
  readonly client: string;
}

export const useQueue = create<Queue>()(() => ({ view: null, jobs: new Map(), next: null, isLoaded: false, client: "" }));

const PAGE = 30;
const ENDED: JobState[] = ["done", "failed", "cancelled"];
let isWatched = false;
let loading: Promise<void> | null = null;

/** Jobs by state: running ones by start, waiting ones in line, ended ones newest first. */
export function sorted(queue: Pick<Queue, "jobs" | "view">): { running: QueueJob[]; waiting: QueueJob[]; ended: QueueJob[] } {
  const all = [...queue.jobs.values()];
  const order = new Map((queue.view?.order ?? []).map((id, at) => [id, at]));
  const place = (job: QueueJob): number => order.get(job.id) ?? order.size;
  return {
    running: all.filter((job) => job.state === "running").sort((a, b) => (a.started ?? 0) - (b.started ?? 0)),
    waiting: all.filter((job) => job.state === "queued").sort((a, b) => place(a) - place(b) || (a.id < b.id ? -1 : 1)),
    ended: all.filter((job) => isFinal(job.state)).sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)),
  };
}

/** The panel is shown: lists are read, and again after each new snapshot. */
export function watchQueue(): () => void {
  isWatched = true;
  void load();
  if (useQueue.getState().client === "") readSession().then(({ client }) => useQueue.setState({ client }), () => {});
  return () => {
    isWatched = false;
  };
}

function load(): Promise<void> {
  loading ??= readLists().catch(tell).finally(() => {
    loading = null;
  });
  return loading;
}

/** Jobs that something was told of while lists are on their way: what was told is newer than the lists. */
let changed: Set<string> | null = null;

async function readLists(): Promise<void> {
  const newer = (changed = new Set<string>());
  const [open, ended] = await Promise.all([listJobs({ state: ["queued", "running"], limit: 200 }), listJobs({ state: ENDED, limit: PAGE })])
    .finally(() => (changed = null));
  useQueue.setState((state) => {
    const jobs = new Map([...state.jobs].filter(([id, job]) => isFinal(job.state) || newer.has(id)));
    // Those that ended between the two answers are in both: the end counts.
    for (const job of [...open.jobs, ...ended.jobs]) {
      if (!newer.has(job.id)) jobs.set(job.id, job);
      else if (jobs.has(job.id)) jobs.set(job.id, { ...job, ...jobs.get(job.id) });
    }
    return { jobs, next: state.isLoaded ? state.next : ended.next, isLoaded: true };
  });
}

export async function loadMore(): Promise<void> {
  const { next } = useQueue.getState();
  const page = next === null ? null : await tried(listJobs({ state: ENDED, limit: PAGE, cursor: next }));
  if (page !== null) useQueue.setState((state) => ({ jobs: merged(state.jobs, page.jobs), next: page.next }));
}

function merged(jobs: ReadonlyMap<string, QueueJob>, more: readonly QueueJob[]): ReadonlyMap<string, QueueJob> {
  const found = new Map(jobs);
  for (const job of more) found.set(job.id, { ...found.get(job.id), ...job });
  return found;
}

/** Take what "all" tells; one commit for a frame. */
export function takeQueueEvents(events: readonly SocketEvent[]): void {
  let { jobs, view } = useQueue.getState();
  const before = { jobs, view };
  for (const event of events) {
    if (event.stream !== "all") continue;
    if (event.job !== undefined) changed?.add(event.job);
    if (event.event === "snapshot") {
      view = told<QueueView | undefined>(event, "queue") ?? null;
      const running = told<readonly (QueueJob & { job: string })[] | undefined>(event, "jobs") ?? [];
      for (const { job } of running) changed?.add(job);
      const ended = [...jobs.values()].filter((job) => isFinal(job.state) || job.state === "queued");
      jobs = merged(new Map(ended.map((job) => [job.id, job])), running.map(({ job, ...rest }) => ({ ...rest, id: job })));
      if (isWatched) void load();
    } else if (event.event === "queue") view = event as unknown as QueueView; // as `hub.py` tells it
    else if (event.event === "deleted" && event.job !== undefined) jobs = without(jobs, event.job);
    else if ((event.event === "job" || event.event === "end") && event.job !== undefined) {
      const { event: _event, stream: _stream, seq: _seq, job, ...facts } = event;
      jobs = merged(jobs, [{ ...(facts as unknown as QueueJob), id: job }]); // as `hub.py` tells them
    }
  }
  if (jobs !== before.jobs || view !== before.view) useQueue.setState({ jobs, view });
  if (isWatched && view?.order.some((id) => !jobs.has(id)) === true) void load();
}

function without(jobs: ReadonlyMap<string, QueueJob>, id: string): ReadonlyMap<string, QueueJob> {
  const found = new Map(jobs);
  found.delete(id);
  return found;
}

function tell(error: unknown): void {
  if (!(error instanceof Problem && error.status === 0)) say(sentence(error), { kind: "bad" });
}

/** Carry out a request and show its refusal. */
async function tried<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    say(sentence(error), { kind: "bad" });
    return null;
  }
}

export async function setPaused(isPaused: boolean): Promise<void> {
  const view = await tried(isPaused ? pauseQueue() : resumeQueue());
  if (view !== null) useQueue.setState({ view });
}

/** One place earlier or later among the waiting jobs of the same client. */
export async function move(job: QueueJob, by: -1 | 1): Promise<void> {
  const other = neighbour(job, by);
  if (other !== undefined) await tried(moveJob(job.id, by < 0 ? { before: other.id } : { after: other.id }));
}

/** The waiting job of the same client that a move would pass. */
export function neighbour(job: QueueJob, by: -1 | 1): QueueJob | undefined {
  const mine = sorted(useQueue.getState()).waiting.filter((one) => one.client === job.client);
  return mine[mine.findIndex((one) => one.id === job.id) + by];
}

export async function cancel(id: string): Promise<void> {
  try {
    await cancelJob(id);
  } catch (error) {
    if (!(error instanceof Problem && error.status === 409)) tell(error);
  }
}

/** Cancel the waiting jobs that this page sent. */
export async function clearWaiting(): Promise<void> {
  await Promise.all(ownWaiting(sorted(useQueue.getState()).waiting).map((job) => cancel(job.id)));
}

export function ownWaiting(waiting: readonly QueueJob[]): QueueJob[] {
  return waiting.filter((job) => isOwn(job.id));
}

export async function forget(id: string): Promise<void> {
  if ((await tried(deleteJob(id).then(() => true))) !== true) return;
  changed?.add(id);
  useQueue.setState((state) => ({ jobs: without(state.jobs, id) }));
  forgetJob(id);
}

/** The same again, with the same seeds; shown by the draft that showed the first. */
export async function retry(job: QueueJob): Promise<void> {
  const view = await tried(retryJob(job.id, {}, newId()));
  if (view === null) return;
  enterJob(view);
  for (const [draft, memory] of useRuns.getState().drafts) {
    const first = memory.jobs.find((one) => one.id === job.id);
    if (first === undefined) continue;
    changeMemory(draft, (before) => ({ ...before, jobs: [...before.jobs, { id: view.id, batch: newId(), set: first.set }] }));
  }
}

/** Open the document that a job ran in a new tab, with its states on the nodes. */
export async function openAsRun(job: QueueJob): Promise<void> {
  const document = await tried(readJobDocument(job.id));
  if (document === null) return;
  const id = newId();
  memoryOf(id);
  changeMemory(id, (memory) => ({ ...memory, opened: job.id }));
  useRuns.setState((state) => ({ documents: new Map(state.documents).set(job.id, document) }));
  useDocuments.getState().add(document, { id });
}

onSocketEvents(takeQueueEvents);
onConnected(() => socket.follow("all"));
