/** Jobs, the queue, plans and values over HTTP, as `server/api/routes/{jobs,workflows,values}.py` define them. */

import type { Json, JsonObject, WorkflowDocument } from "../model/document";
import { ask, askRaw } from "./ask";

export type JobState = "queued" | "running" | "done" | "failed" | "cancelled";
export type NodeRunState = "waiting" | "cached" | "running" | "done" | "failed" | "skipped" | "cancelled";

export interface ProgressFacts {
  readonly step: number;
  readonly total: number;
  readonly eta_seconds: number | null;
  readonly element?: number;
}

/** How far a node of a job is. Members that say nothing are left out. */
export interface NodeRow {
  readonly id: string;
  readonly type: string;
  readonly state: NodeRunState;
  readonly seconds?: number;
  readonly device?: string;
  readonly progress?: ProgressFacts;
  readonly note?: string;
  readonly message?: string;
  readonly code?: string;
  /** Of a mapped node: "total", and how many elements are in each state. */
  readonly elements?: { readonly [state: string]: number };
}

export interface ProblemDocument {
  readonly title: string;
  readonly code: string;
  readonly detail: string;
  readonly node?: string | null;
  readonly port?: string | null;
  readonly problems?: readonly WorkflowProblem[];
  readonly [name: string]: unknown;
}

export interface WorkflowProblem {
  readonly code: string;
  readonly message: string;
  readonly node?: string | null;
  readonly port?: string | null;
}

export interface JobSummary {
  readonly id: string;
  readonly state: JobState;
  readonly workflow: string;
  readonly priority: number;
  readonly client: string;
  readonly created: number;
  readonly started: number | null;
  readonly ended: number | null;
  readonly seeds: { readonly [port: string]: number };
  readonly inputs: JsonObject;
  readonly targets: readonly string[] | null;
  readonly estimated_seconds: number;
  readonly retry_of: string | null;
  readonly seconds: number | null;
  readonly problem: ProblemDocument | null;
}

export interface JobView extends JobSummary {
  readonly nodes: readonly NodeRow[];
  readonly counts: { readonly [state: string]: number };
  readonly omitted: number;
  readonly messages: readonly string[];
  readonly outputs: JsonObject;
  readonly absent: { readonly [name: string]: string };
}

export interface JobRequest {
  readonly workflow: WorkflowDocument;
  readonly inputs?: JsonObject;
  readonly targets?: readonly string[];
}

export interface QueueView {
  readonly queued: number;
  readonly running: number;
  readonly seconds: number;
  readonly is_paused: boolean;
  readonly is_draining: boolean;
  readonly order: readonly string[];
}

export interface PlannedNode {
  readonly id: string;
  readonly type: string;
  /** cached, run, light, ... */
  readonly state: string;
  readonly tasks: number;
  readonly running: number;
  readonly reason: string;
  readonly place: string;
  readonly seconds: number | null;
  readonly peak_bytes: number | null;
}

export interface PlanView {
  readonly nodes: readonly PlannedNode[];
  readonly seconds: number | null;
  readonly peak_bytes: { readonly [place: string]: number };
  readonly absent: { readonly [name: string]: string };
}

export interface Reason {
  readonly node: string;
  readonly part: string;
  readonly message: string;
}

export type ValueForm = "webp" | "png" | "facts";

/** What a port held: a picture (its bytes, and how many there are), or facts. */
export type Value =
  | { readonly picture: Blob; readonly count: number }
  | { readonly type: string; readonly value: Json; readonly is_cut?: boolean }
  | { readonly type: string; readonly fields: JsonObject; readonly tensors: readonly TensorFacts[] };

export interface TensorFacts {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly min: number | string | null;
  readonly max: number | string | null;
}

const json = (body: unknown): RequestInit => ({ method: "POST", body: JSON.stringify(body) });

export const createJob = (order: JobRequest, key: string, signal?: AbortSignal): Promise<JobView> =>
  ask("/v1/jobs", { ...json(order), headers: { "Idempotency-Key": key }, ...(signal ? { signal } : {}) });
export const readJob = (id: string): Promise<JobView> => ask(`/v1/jobs/${id}`);
export const readJobDocument = (id: string): Promise<WorkflowDocument> => ask(`/v1/jobs/${id}/document`);
export const cancelJob = (id: string): Promise<JobView> => ask(`/v1/jobs/${id}/cancel`, { method: "POST" });
export const retryJob = (id: string, key: string): Promise<JobView> =>
  ask(`/v1/jobs/${id}/retry`, { ...json({}), headers: { "Idempotency-Key": key } });
export const moveJob = (id: string, where: { before: string } | { after: string } | { priority: number }): Promise<JobView> =>
  ask(`/v1/jobs/${id}/move`, json(where));
export const deleteJob = (id: string): Promise<void> => ask(`/v1/jobs/${id}`, { method: "DELETE" });
export const readQueue = (): Promise<QueueView> => ask("/v1/queue");
export const pauseQueue = (): Promise<QueueView> => ask("/v1/queue/pause", { method: "POST" });
export const resumeQueue = (): Promise<QueueView> => ask("/v1/queue/resume", { method: "POST" });

export function listJobs(states: readonly JobState[], limit: number, cursor?: number): Promise<{ jobs: JobSummary[]; next: number | null }> {
  const query = new URLSearchParams(states.map((state) => ["state", state]));
  query.set("limit", String(limit));
  if (cursor !== undefined) query.set("cursor", String(cursor));
  return ask(`/v1/jobs?${query}`);
}

export const planWorkflow = (order: JobRequest, signal: AbortSignal): Promise<PlanView> =>
  ask("/v1/workflows/plan", { ...json(order), signal });
export const whyNode = (workflow: WorkflowDocument, node: string): Promise<{ node: string; reasons: Reason[] }> =>
  ask("/v1/workflows/why", json({ workflow, node }));
export const readSession = (): Promise<{ kind: string; client: string }> => ask("/v1/session");

export function valueUrl(job: string, node: string, port: string, form: ValueForm, index = 0, element?: number): string {
  const query = new URLSearchParams({ form, index: String(index), ...(element === undefined ? {} : { element: String(element) }) });
  return `/v1/jobs/${job}/values/${encodeURIComponent(node)}/${encodeURIComponent(port)}?${query}`;
}

export async function readValue(
  job: string, node: string, port: string, index: number, element: number | undefined, form: ValueForm, signal: AbortSignal,
): Promise<Value> {
  const response = await askRaw(valueUrl(job, node, port, form, index, element), { signal });
  if (response.headers.get("Content-Type")?.startsWith("image/") === true) {
    return { picture: await response.blob(), count: Number(response.headers.get("Pictures") ?? 1) };
  }
  return (await response.json()) as Value;
}
