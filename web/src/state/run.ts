/** Running the active document: once or n times, all of it or up to some nodes, on each change, and cancelling. */

import { Problem, cancelJob, sentence } from "../api/client";
import { type Json, type JsonObject, type WorkflowDocument, isRandom } from "../model/document";
import { withValues } from "../model/values";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { type OpenDocument, activeDocument, newId, useDocuments } from "./documents";
import { isFinal } from "./run_events";
import { useRunSettings } from "./run_settings";
import { memoryOf, useRuns } from "./runs";
import { seedPorts } from "./seeds";
import { keyedText, sharesKeys } from "./stale";
import { giveUp, submit, useSubmissions } from "./submit";

const MOST_SEED = 2 ** 53 - 1;

/** The values that job number `at` of a batch gets: every fixed seed advanced by it; random ones are drawn by the server. */
export function batchValues(document: WorkflowDocument, at: number): JsonObject {
  if (at === 0) return {};
  const values: { [port: string]: Json } = {};
  for (const { port, value } of seedPorts(document)) {
    if (typeof value === "number") values[port] = (value + at) % (MOST_SEED + 1);
  }
  return values;
}

/** Whether n jobs would all be the same: nothing random in it and no seed to advance. */
function isBatchInVain(document: WorkflowDocument): boolean {
  return seedPorts(document).every(({ value }) => typeof value !== "number" && !isRandom(value));
}

/** Run the active document; with targets ("node", "node.port") up to these. */
export async function runActive(targets?: readonly string[]): Promise<void> {
  const active = activeDocument();
  if (active === undefined) return;
  if (targets?.length === 0) { // an instance of a subgraph without outputs
    say(t("run.no_target"), { kind: "warn" });
    return;
  }
  const count = targets === undefined ? useRunSettings.getState().count : 1;
  await send(active, count, targets);
}

async function send(active: OpenDocument, count: number, targets?: readonly string[]): Promise<void> {
  const document = active.history.document;
  if (Object.keys(document.nodes).length === 0) {
    say(t("run.nothing"), { kind: "warn" });
    return;
  }
  if (count > 1 && isBatchInVain(document)) say(t("run.batch_in_vain", { count }), { kind: "warn" });
  const batch = newId();
  await submit(Array.from({ length: count }, (_, at) => {
    const set = batchValues(document, at);
    return { draft: active.id, batch, workflow: withValues(document, set), set, ...(targets ? { targets } : {}) };
  }));
}

/** This draft's jobs that have not ended, oldest first. */
function openJobs(draft: string): string[] {
  const { runs } = useRuns.getState();
  return memoryOf(draft).jobs.map((job) => job.id).filter((id) => {
    const run = runs.get(id);
    return run !== undefined && !isFinal(run.state);
  });
}

/** Cancel what this draft runs, waits for, or is still sending. */
export async function cancelActive(): Promise<void> {
  const active = activeDocument();
  if (active === undefined) return;
  giveUp(active.id);
  await Promise.all(openJobs(active.id).map(cancelQuietly));
}

/** Cancel a job; that it has ended meanwhile is no matter. */
async function cancelQuietly(id: string): Promise<void> {
  try {
    await cancelJob(id);
  } catch (error) {
    if (error instanceof Problem && (error.status === 409 || error.status === 404)) return;
    say(sentence(error), { kind: "bad" });
  }
}

/** Whether the active draft has something to cancel. */
export function isBusy(): boolean {
  const active = activeDocument();
  if (active === undefined) return false;
  return useSubmissions.getState().open.some((one) => one.draft === active.id) || openJobs(active.id).length > 0;
}

// Run on change: one job at a time, of the newest document; its own older ones that wait are cancelled.

const CHANGE_WAIT_MS = 500;
let timer: ReturnType<typeof setTimeout> | undefined;
let before: { draft: string; document: WorkflowDocument; text: string } | null = null;
let isSending = false;
/** The document that was edited while another run of the newest was on its way. */
let due: string | null = null;

function look(): void {
  const active = activeDocument();
  if (active === undefined) return;
  const document = active.history.document;
  if (before?.draft === active.id && (before.document === document || sharesKeys(before.document, document))) return;
  const text = keyedText(document);
  const isEdit = before?.draft === active.id && before.text !== text;
  before = { draft: active.id, document, text };
  if (!isEdit || !useRunSettings.getState().onChange) return;
  clearTimeout(timer);
  timer = setTimeout(() => void runNewest(active.id), CHANGE_WAIT_MS);
}

/** Run the document that was edited, whichever is shown by now. */
async function runNewest(draft: string): Promise<void> {
  if (isSending) {
    due = draft;
    return;
  }
  isSending = true;
  try {
    const { runs } = useRuns.getState();
    const waiting = openJobs(draft).filter((id) => runs.get(id)?.state === "queued");
    await Promise.all(waiting.map(cancelQuietly));
    const edited = useDocuments.getState().open.find((one) => one.id === draft);
    if (edited !== undefined && useRunSettings.getState().onChange) await send(edited, 1);
  } finally {
    isSending = false;
    if (due !== null) {
      const next = due;
      due = null;
      void runNewest(next);
    }
  }
}

useDocuments.subscribe(look);

