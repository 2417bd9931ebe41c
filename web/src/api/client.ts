/**
 * The server's routes as functions, named like the handlers of `server/api/routes/`. They throw `Problem` (http.ts).
 *
 * Types are those of the OpenAPI document. An answer whose version matters comes as `Answer` with its `etag`; of others
 * only the value.
 */

import type { JsonObject, WorkflowDocument } from "../model/document";
import { randomId } from "../model/random";
import { type Answer, type Version, ask, askIfChanged, askText, queryText, upload } from "./http";
import type { components, operations } from "./schema";

export { type Answer, Problem, type Version, type WorkflowProblem, sentence } from "./http";

export type Schemas = components["schemas"];
/** A document that the server tells as JSON: it has read it as one, or it was kept by one of our pages. */
export const asDocument = (value: object): WorkflowDocument => value as WorkflowDocument;
export type WorkflowEntry = Schemas["WorkflowEntry"];
export type SavedView = Schemas["SavedView"];
export type VersionView = Schemas["VersionView"];
export type DraftView = Schemas["DraftView"];
export type DraftEntry = Schemas["DraftEntryView"];
export type JobView = Schemas["JobView"];
export type PlanView = Schemas["PlanView"];
export type OutputSummary = Schemas["OutputSummary"];
export type OutputView = Schemas["server__api__routes__outputs__OutputView"];
export type FileView = Schemas["FileView"];

type QueryOf<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;
/** Of a request; the document in it is one of ours. */
type WithWorkflow<Body> = Omit<Body, "workflow"> & { readonly workflow: WorkflowDocument | string };

type WithDocument<Body> = Omit<Body, "document"> & { readonly document: WorkflowDocument };

interface Options {
  readonly signal?: AbortSignal;
}

const path = (...parts: readonly (string | number)[]): string => `/v1/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

async function valueOf<T>(answer: Promise<Answer<T>>): Promise<T> {
  return (await answer).value;
}
const read = <T>(where: string, query?: object, options: Options = {}): Promise<T> =>
  valueOf(ask<T>("GET", where, { query: (query ?? {}) as NonNullable<Parameters<typeof queryText>[0]>, ...options })); // queries of the schema hold nothing else
const post = <T>(where: string, json: unknown = undefined, options: Options = {}): Promise<T> =>
  valueOf(ask<T>("POST", where, { ...(json === undefined ? {} : { json }), ...options }));

// The server.

export const openSession = (token: string): Promise<Schemas["SessionView"]> => post(path("session"), { token });
export const readSession = (): Promise<Schemas["SessionView"]> => read(path("session"));
export const readServer = (): Promise<Schemas["ServerView"]> => read(path("server"));
export const listSettings = (): Promise<Schemas["SettingList"]> => read(path("settings"));
export const readPreferences = (): Promise<Answer<JsonObject>> => ask("GET", path("settings", "page"));
export const savePreferences = (values: JsonObject, etag?: string): Promise<Answer<JsonObject>> =>
  ask("PUT", path("settings", "page"), { json: values, version: etag === undefined ? undefined : { match: etag } });

// Node types, models, devices, cache.

/** Null: the version `known` is still the one. */
export const listNodes = (known?: string, options: Options = {}): Promise<Answer<Schemas["NodesView"]> | null> =>
  askIfChanged("GET", path("nodes"), { known, ...options });
export const listModels = (): Promise<Schemas["ModelList"]> => read(path("models"));
export const listDevices = (): Promise<Schemas["DevicesView"]> => read(path("devices"));
export const freeMemory = (device: string | null = null): Promise<Schemas["FreedView"]> => post(path("devices", "free"), { device });
export const readCache = (): Promise<Schemas["CacheView"]> => read(path("cache"));
export const clearCache = (body: Schemas["ClearRequest"]): Promise<Schemas["ClearedView"]> => post(path("cache", "clear"), body);

// Saved workflows.

export const listWorkflows = (options: Options = {}): Promise<Schemas["WorkflowList"]> => read(path("workflows"), {}, options);
/** The document's text: `readDocument` (model/read.ts) makes a document of it. Refuses with the flaws if it is none. */
export const readWorkflow = (name: string, options: Options = {}): Promise<Answer<string>> =>
  askText("GET", path("workflows", name), options);
/** Where the file can be downloaded, whatever it holds. */
export const workflowFileUrl = (name: string): string => path("workflows", name, "file");
export const readWorkflowFile = (name: string): Promise<Answer<string>> => askText("GET", workflowFileUrl(name));
export const saveWorkflow = (name: string, document: WorkflowDocument, version: Version): Promise<Answer<SavedView>> =>
  ask("PUT", path("workflows", name), { json: document, version });
export const deleteWorkflow = (name: string, etag: string): Promise<void> =>
  valueOf(ask("DELETE", path("workflows", name), { version: { match: etag } }));
export const renameWorkflow = (name: string, wanted: string, etag: string): Promise<Answer<SavedView>> =>
  ask("POST", path("workflows", name, "rename"), { json: { name: wanted }, version: { match: etag } });
export const copyWorkflow = (name: string, wanted: string): Promise<Answer<SavedView>> =>
  ask("POST", path("workflows", name, "copy"), { json: { name: wanted } });
export const listVersions = (name: string): Promise<Schemas["VersionList"]> => read(path("workflows", name, "versions"));
export const readVersion = (name: string, version: number): Promise<Answer<string>> =>
  askText("GET", path("workflows", name, "versions", version));
/** `etag` is that of the current content; without for a workflow that was deleted. */
export const restoreVersion = (name: string, version: number, etag?: string): Promise<Answer<SavedView>> =>
  ask("POST", path("workflows", name, "restore"), { json: { version }, version: etag === undefined ? undefined : { match: etag } });

// What would happen.

export const planWorkflow = (body: WithWorkflow<Schemas["JobRequest"]>, options: Options = {}): Promise<PlanView> =>
  post(path("workflows", "plan"), body, options);
export const whyNode = (body: WithWorkflow<Schemas["WhyRequest"]>, options: Options = {}): Promise<Schemas["WhyView"]> =>
  post(path("workflows", "why"), body, options);

// Drafts.

export const listDrafts = (options: Options = {}): Promise<Schemas["DraftList"]> => read(path("drafts"), {}, options);
export const readDraft = (id: string): Promise<DraftView> => read(path("drafts", id));
export const saveDraft = (
  id: string,
  { document, workflow, base, closed }: WithDocument<Required<Schemas["DraftBody"]>>,
  version: Version,
): Promise<Schemas["DraftSaved"]> => valueOf(ask("PUT", path("drafts", id), { json: { document, workflow, base, closed }, version }));
export const deleteDraft = (id: string, etag: string): Promise<void> =>
  valueOf(ask("DELETE", path("drafts", id), { version: { match: etag } }));

// Jobs and the queue.

export const listJobs = (query: QueryOf<"list_jobs"> = {}, options: Options = {}): Promise<Schemas["JobPage"]> =>
  read(path("jobs"), query, options);
export const readJob = (id: string): Promise<JobView> => read(path("jobs", id));
/** The document's text, as it ran: seeds drawn. */
export const readJobDocument = (id: string): Promise<Answer<string>> => askText("GET", path("jobs", id, "document"));
export const cancelJob = (id: string): Promise<JobView> => post(path("jobs", id, "cancel"));
export const retryJob = (id: string, body: Schemas["RetryRequest"] = {}, key: string = randomId()): Promise<JobView> =>
  valueOf(ask("POST", path("jobs", id, "retry"), { json: body, headers: { "Idempotency-Key": key } }));
export const moveJob = (id: string, body: Schemas["MoveRequest"]): Promise<JobView> => post(path("jobs", id, "move"), body);
export const deleteJob = (id: string): Promise<void> => valueOf(ask("DELETE", path("jobs", id)));
export const pauseQueue = (): Promise<Schemas["QueueView"]> => post(path("queue", "pause"));
export const resumeQueue = (): Promise<Schemas["QueueView"]> => post(path("queue", "resume"));
/** For `<img src>`, or `fetch` with form "facts". `node` is the run id ("upscale/sampler"). */
export const valueUrl = (id: string, node: string, port: string, query: QueryOf<"read_value"> = {}): string =>
  `${path("jobs", id, "values", node, port)}${queryText({ ...query })}`;

// Outputs and files.

export const listOutputs = (query: QueryOf<"list_outputs"> = {}, options: Options = {}): Promise<Schemas["OutputPage"]> =>
  read(path("outputs"), query, options);
export const readOutput = (id: string): Promise<OutputView> => read(path("outputs", id));
export const deleteOutput = (id: string): Promise<void> => valueOf(ask("DELETE", path("outputs", id)));
export const starOutput = (id: string): Promise<void> => valueOf(ask("PUT", path("outputs", id, "star")));
export const unstarOutput = (id: string): Promise<void> => valueOf(ask("DELETE", path("outputs", id, "star")));
export const outputUrl = (id: string, query: QueryOf<"download_output"> = {}): string =>
  `${path("outputs", id, "file")}${queryText({ ...query })}`;
export const outputThumbnailUrl = (id: string, size = 256): string => `${path("outputs", id, "thumbnail")}?size=${size}`;
export const outputWorkflow = (id: string): Promise<Schemas["CarriedWorkflow"]> => read(path("outputs", id, "workflow"));

export const uploadFile = async (
  content: Blob,
  name: string,
  more: { onProgress?: (part: number) => void; signal?: AbortSignal } = {},
): Promise<FileView> =>
  valueOf(upload<FileView>(path("files"), content, { headers: { "X-File-Name": encodeURIComponent(name) }, ...more }));
export const listFiles = (query: QueryOf<"list_files"> = {}, options: Options = {}): Promise<Schemas["FilePage"]> =>
  read(path("files"), query, options);
export const deleteFile = (sha256: string): Promise<void> => valueOf(ask("DELETE", path("files", sha256)));
export const fileUrl = (sha256: string): string => path("files", sha256, "content");
export const fileThumbnailUrl = (sha256: string, size = 256): string => `${path("files", sha256, "thumbnail")}?size=${size}`;
/** The workflow that an uploaded picture carries. Throws Problem `not_found` if it carries none. */
export const fileWorkflow = (sha256: string): Promise<Schemas["CarriedWorkflow"]> => post(path("files", sha256, "workflow"));
