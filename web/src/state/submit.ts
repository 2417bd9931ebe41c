/**
 * Sending jobs: each with an Idempotency-Key, so that what is sent again after a lost answer is never two jobs.
 *
 * While the server is away or full, it is tried again until it is accepted or the user cancels it; `useSubmissions` says so.
 */

import { create } from "zustand";

import { Problem } from "../api/client";
import { type JobRequest, type JobView, createJob } from "../api/jobs";
import type { JsonObject } from "../model/document";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { announce } from "./announce";
import { useLayout } from "./layout";
import { showProblems } from "./plan";
import { changeMemory, enterJob } from "./runs";

export interface Submission {
  readonly key: string;
  readonly draft: string;
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
  /** Whether the draft shows it from now on; a sweep's jobs are shown in its grid. */
  readonly isShown?: boolean;
}

interface Submissions {
  readonly open: readonly Submission[];
}

export const useSubmissions = create<Submissions>()(() => ({ open: [] }));

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;
const aborts = new Map<string, AbortController>();

/** Send a job and wait until it is accepted; null if it was refused or given up (the user has been told). */
export async function submit(order: Order): Promise<JobView | null> {
  const key = crypto.randomUUID();
  const abort = new AbortController();
  aborts.set(key, abort);
  put({ key, draft: order.draft, waiting: null, since: Date.now() });
  try {
    const view = await untilAccepted(order, key, abort.signal);
    if (view !== null) accept(order, view);
    return view;
  } finally {
    aborts.delete(key);
    useSubmissions.setState((state) => ({ open: state.open.filter((one) => one.key !== key) }));
  }
}

/** Give up the jobs of a draft that are not accepted yet. */
export function giveUp(draft: string): void {
  for (const one of useSubmissions.getState().open) if (one.draft === draft) aborts.get(one.key)?.abort();
}

async function untilAccepted(order: Order, key: string, signal: AbortSignal): Promise<JobView | null> {
  const { workflow, inputs, targets } = order;
  const body: JobRequest = { workflow, ...(inputs ? { inputs } : {}), ...(targets ? { targets } : {}) };
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      return await createJob(body, key, signal);
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof Problem)) throw error;
      if (!error.isPassing) {
        tell(order, error);
        return null;
      }
      const text = error.status === 0 ? t("run.server_away") : error.detail;
      useSubmissions.setState((state) => ({ open: state.open.map((one) => (one.key === key ? { ...one, waiting: text } : one)) }));
      if (tries === 0) announce(text);
      await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries), signal);
    }
  }
  return null;
}

function put(submission: Submission): void {
  useSubmissions.setState((state) => ({ open: [...state.open, submission] }));
}

function accept(order: Order, view: JobView): void {
  enterJob(view);
  if (order.isShown === false) return;
  const job = { id: view.id, batch: order.batch, set: order.set ?? {} };
  changeMemory(order.draft, (memory) => ({ ...memory, jobs: [...memory.jobs, job] }));
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
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
