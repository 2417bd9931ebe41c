/** Jobs as this page uses them: the server's types by short names, and the two requests that `client.ts` has not. */

import type { Json, JsonObject, WorkflowDocument } from "../model/document";
import { type Schemas, readJobDocument as readJobText, valueUrl } from "./client";
import { ask, fetched } from "./http";

export type JobView = Schemas["JobView"];
export type JobState = JobView["state"];
export type NodeRow = Schemas["NodeRow"];
export type NodeRunState = NodeRow["state"];
export type ProgressFacts = Schemas["ProgressFacts"];
export type ProblemDocument = Schemas["ProblemDocument"];
export type WorkflowProblem = Schemas["WorkflowProblem"];
export type PlanView = Schemas["PlanView"];
export type PlannedNode = Schemas["PlannedNodeView"];
export type QueueView = Schemas["QueueView"];

export interface JobRequest {
  readonly workflow: WorkflowDocument;
  readonly inputs?: JsonObject;
  readonly targets?: readonly string[];
}

/** Ask for a job; `key` makes it safe to send again. */
export async function createJob(order: JobRequest, key: string): Promise<JobView> {
  return (await ask<JobView>("POST", "/v1/jobs", { json: order, headers: { "Idempotency-Key": key } })).value;
}

/** The frozen copy of a job's document. */
export async function readJobDocument(id: string): Promise<WorkflowDocument> {
  return JSON.parse((await readJobText(id)).value) as WorkflowDocument; // the server accepted it
}

export interface TensorFacts {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly min: number | string | null;
  readonly max: number | string | null;
}

/** What a port held: a picture and how many there are, a plain value, or facts. */
export type Value =
  | { readonly picture: Blob; readonly count: number }
  | { readonly type: string; readonly value: Json; readonly is_cut?: boolean }
  | { readonly type: string; readonly fields: JsonObject; readonly tensors: readonly TensorFacts[] };

export interface ValuePlace {
  readonly job: string;
  /** Run id. */
  readonly node: string;
  readonly port: string;
  readonly index: number;
  readonly element: number | null;
}

export async function readValue(place: ValuePlace, signal: AbortSignal): Promise<Value> {
  const response = await fetched(addressOf(place, "webp"), { signal });
  if (response.headers.get("Content-Type")?.startsWith("image/") !== true) return (await response.json()) as Value; // what this route answers
  return { picture: await response.blob(), count: Number(response.headers.get("Pictures") ?? 1) };
}

export function addressOf({ job, node, port, index, element }: ValuePlace, form: "webp" | "png" | "facts"): string {
  return valueUrl(job, node, port, { index, form, ...(element === null ? {} : { element }) });
}
