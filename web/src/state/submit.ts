/**
 * Sending jobs: each with an Idempotency-Key, so that what is sent again after a lost answer is never two jobs.
 *
 * While the server is away or full, it is tried again until it is accepted or the user cancels it; `useSubmissions` says so.
 * What is not accepted yet survives a reload of the page (`outbox.ts`, `resumeSubmissions`).
 */

import { create } from "zustand";

import { Problem, cancelJob } from "../api/client";
import { type JobRequest, type JobView, createJob } from "../api/jobs";
import type { JsonObject } from "../model/document";
import { randomId } from "../model/random";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { announce } from "./announce";
import { useLayout } from "./layout";
import { type Kept, dropOrder, keepOrders, takeOrders } from "./outbox";
import { showProblems } from "./plan";
import { changeMemory, enterJob, memoryOf } from "./runs";

export interface Submission {
  readonly key: string;
  readonly draft: string;
  /** Those sent together have the same. */
  readonly batch: string;
  /** The document's name; "" for none. */
  readonly workflow: string;
  /** Why it is not accepted yet; null while it is being sent the first time. */
  readonly waiting: string | null;
  readonly since: number;
}

export interface Order extends JobRequest {
  readonly draft: string;
  /** Jobs sent together have the same. */
  readonly batch: string;
  /** Values that are set for this job alone, by port; they are in its document already. */
  readonly set?: JsonObject;
  /** The sweep, and which of its cells: such jobs are shown in its grid and not on the nodes. */
  readonly cell?: { readonly sweep: string; readonly at: number };
}

interface Submissions {
  readonly open: readonly Submission[];
}

export const useSubmissions = create<Submissions>()(() => ({ open: [] }));

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;
const aborts = new Map<string, AbortController>();

/** Send jobs one after the other and wait until they are accepted. The first that is refused or given up ends it: the user has been told. */
export function submit(orders: readonly Order[]): Promise<readonly JobView[]> {
  const kept = orders.map((order, at): Kept<Order> => ({ key: randomId(), since: Date.now(), at, order }));
  void keepOrders(kept);
  return sendAll(kept);
}

/** Send what pages that are gone could not send. */
export async function resumeSubmissions(): Promise<void> {
  const batches = new Map<string, Kept<Order>[]>();
  for (const one of await takeOrders<Order>()) batches.set(one.order.batch, [...(batches.get(one.order.batch) ?? []), one]);
  await Promise.all([...batches.values()].map(sendAll));
}

async function sendAll(kept: readonly Kept<Order>[]): Promise<readonly JobView[]> {
  for (const one of kept) aborts.set(one.key, new AbortController());
  const submissions = kept.map(({ key, since, order }): Submission => (
    { key, draft: order.draft, batch: order.batch, workflow: order.workflow.name ?? "", waiting: null, since }
  ));
  useSubmissions.setState((state) => ({ open: [...state.open, ...submissions] }));
  const views: JobView[] = [];
  try {
    for (const { key, order } of kept) {
      const view = isWanted(order) ? await untilAccepted(order, key) : null;
      if (view === null) return views;
      accept(order, view);
      views.push(view);
      end([key]);
    }
    return views;
  } finally {
    end(kept.map((one) => one.key).filter((key) => aborts.has(key)));
  }
}

/** Give up the jobs of a draft that are not accepted yet; or those of one batch. */
export function giveUp(draft: string, batch?: string): void {
  for (const one of useSubmissions.getState().open) {
    if (one.draft === draft && (batch === undefined || one.batch === batch)) aborts.get(one.key)?.abort();
  }
}

function end(keys: readonly string[]): void {
  for (const key of keys) {
    aborts.delete(key);
    void dropOrder(key);
  }
  useSubmissions.setState((state) => ({ open: state.open.filter((one) => !keys.includes(one.key)) }));
}

/** A sweep that was removed meanwhile needs no more cells. */
function isWanted({ cell, draft }: Order): boolean {
  return cell === undefined || memoryOf(draft).sweeps.some((one) => one.id === cell.sweep);
}

async function untilAccepted(order: Order, key: string): Promise<JobView | null> {
  const signal = aborts.get(key)?.signal ?? AbortSignal.abort();
  const { workflow, inputs, targets } = order;
  const body: JobRequest = { workflow, ...(inputs ? { inputs } : {}), ...(targets ? { targets } : {}) };
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      return await unlessGivenUp(createJob(body, key), signal);
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof Problem)) throw error;
      if (!error.isPassing) {
        tell(order, error);
        return null;
      }
      wait(order, error.status === 0 ? t("run.server_away") : error.detail, tries === 0);
      await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries), signal);
    }
  }
  return null;
}

/** The job; null once it is given up. That the server takes it all the same cannot be helped: it is cancelled there then. */
async function unlessGivenUp(asked: Promise<JobView>, signal: AbortSignal): Promise<JobView | null> {
  let giveUpNow = (): void => {};
  const givenUp = new Promise<null>((resolve) => { giveUpNow = () => resolve(null); });
  signal.addEventListener("abort", giveUpNow);
  try {
    const view = await Promise.race([asked, givenUp]);
    if (view === null) asked.then(({ id }) => cancelJob(id)).catch(() => undefined); // refused, or ended meanwhile
    return view;
  } finally {
    signal.removeEventListener("abort", giveUpNow);
  }
}

/** Say why a job, and those behind it, wait. */
function wait(order: Order, waiting: string, isNews: boolean): void {
  useSubmissions.setState((state) => ({ open: state.open.map((one) => (one.batch === order.batch ? { ...one, waiting } : one)) }));
  if (isNews) announce(waiting);
}

function accept(order: Order, view: JobView): void {
  enterJob(view);
  const { cell } = order;
  changeMemory(order.draft, (memory) => {
    if (cell === undefined) return { ...memory, jobs: [...memory.jobs, { id: view.id, batch: order.batch, set: order.set ?? {} }] };
    const sweeps = memory.sweeps.map((one) => (one.id === cell.sweep ? { ...one, jobs: one.jobs.with(cell.at, view.id) } : one));
    return { ...memory, sweeps };
  });
}

function tell(order: Order, error: Problem): void {
  announce(error.detail);
  if (error.code === "invalid_workflow") {
    showProblems(order.draft, error.problems);
    useLayout.getState().show("right", "problems");
  }
  say(error.detail, { kind: "bad" });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
