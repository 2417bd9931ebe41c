/**
 * Requests to the server: JSON both ways, versions by ETag, refusals as `Problem`.
 *
 * Knows nothing of single routes (`client.ts`) and keeps nothing. A 401 is told to whoever listens (`session.ts`).
 */

import { t } from "../texts";
import type { components } from "./schema";

type ProblemDocument = components["schemas"]["ProblemDocument"];
export type WorkflowProblem = components["schemas"]["WorkflowProblem"];

/** A refusal of the server (RFC 9457), or, with `status` 0 and `code` "unreachable", no answer at all. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  /** A sentence for people: what was found, where, what to do. Shown as it is. */
  readonly detail: string;
  readonly node: string | undefined;
  readonly port: string | undefined;
  readonly pointer: string | undefined;
  readonly retryAfterS: number | undefined;
  readonly problems: readonly WorkflowProblem[];
  /** The version that is there, where a version was the problem. */
  readonly etag: string | undefined;
  /** The whole document; routes may say more. */
  readonly facts: Partial<ProblemDocument>;

  constructor(facts: Partial<ProblemDocument> & { readonly status: number; readonly code: string; readonly detail: string }) {
    super(facts.detail);
    this.name = "Problem";
    this.status = facts.status;
    this.code = facts.code;
    this.detail = facts.detail;
    this.node = facts.node ?? undefined;
    this.port = facts.port ?? undefined;
    this.pointer = facts.pointer ?? undefined;
    this.retryAfterS = facts.retry_after_s ?? undefined;
    this.problems = facts.problems ?? [];
    this.etag = typeof facts["etag"] === "string" ? facts["etag"] : undefined;
    this.facts = facts;
  }

  /** Whether the same request may succeed later, unchanged. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 401 || this.status === 408 || this.status === 429;
  }
}

/** Which version is changed: `match` this one, `create` only if there is none. */
export type Version = { readonly match: string } | { readonly create: true };

export interface Request {
  readonly query?: { readonly [name: string]: string | number | boolean | readonly string[] | null | undefined };
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: BodyInit;
  readonly version?: Version | undefined;
  /** The version that is known: without a change the answer is null. */
  readonly known?: string | undefined;
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
  /** Let it outlive the page (bodies up to 64 KiB). */
  readonly keepalive?: boolean;
}

export interface Answer<T> {
  readonly value: T;
  /** Without its quotes. */
  readonly etag: string | null;
  readonly status: number;
}

/** An answer that takes longer is taken for none. */
const WAIT_MS = 30_000;

let onUnauthorized: (sentAt: number) => void = () => {};

/** Be told of every 401, and when its request was sent (`performance.now()`). */
export function listenUnauthorized(listener: (sentAt: number) => void): void {
  onUnauthorized = listener;
}

/** The answer's JSON. Throws `Problem`, and AbortError if `signal` says so. */
export async function ask<T>(method: string, path: string, request: Request = {}): Promise<Answer<T>> {
  const response = await send(method, path, request);
  const text = response.status === 204 ? "" : await bodyOf(response);
  return { value: (text === "" ? undefined : JSON.parse(text)) as T, etag: etagOf(response), status: response.status }; // who asks knows what the route answers
}

/** The answer's text as it came. */
export async function askText(method: string, path: string, request: Request = {}): Promise<Answer<string>> {
  const response = await send(method, path, request);
  return { value: await bodyOf(response), etag: etagOf(response), status: response.status };
}

/** Like `ask`, but null if the version named as `known` is still the one. */
export async function askIfChanged<T>(method: string, path: string, request: Request): Promise<Answer<T> | null> {
  const response = await send(method, path, request);
  if (response.status === 304) return null;
  return { value: JSON.parse(await bodyOf(response)) as T, etag: etagOf(response), status: response.status }; // as above
}

function send(method: string, path: string, request: Request): Promise<Response> {
  const signals = [AbortSignal.timeout(WAIT_MS), ...(request.signal ? [request.signal] : [])];
  const init = {
    method,
    headers: headersOf(request),
    body: request.json === undefined ? (request.body ?? null) : JSON.stringify(request.json),
    credentials: "same-origin",
    cache: "no-store",
    keepalive: request.keepalive ?? false,
    signal: AbortSignal.any(signals),
  } as const;
  return fetched(path + queryText(request.query), init, request.signal);
}

/** The answer as it comes, for what is no JSON. Throws `Problem`, and AbortError if `stop` says so. */
export async function fetched(url: string, init: RequestInit = {}, stop: AbortSignal | null | undefined = init.signal): Promise<Response> {
  const sentAt = performance.now();
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (stop?.aborted) throw error;
    throw unreachable();
  }
  if (response.ok || response.status === 304) return response;
  const problem = problemOf(response.status, await response.text().catch(() => ""));
  if (response.status === 401) onUnauthorized(sentAt);
  throw problem;
}

/** The connection may break in the middle of an answer too. */
async function bodyOf(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch {
    throw unreachable();
  }
}

function unreachable(): Problem {
  return new Problem({ status: 0, code: "unreachable", detail: t("documents.unreachable") });
}

/** The problem that a refusal's body tells; whatever it is, there is one. */
export function problemOf(status: number, text: string): Problem {
  try {
    const facts = JSON.parse(text) as Partial<ProblemDocument>; // looked at below
    if (typeof facts.code === "string" && typeof facts.detail === "string") {
      return new Problem({ ...facts, status, code: facts.code, detail: facts.detail });
    }
  } catch {
    // told below
  }
  return new Problem({ status, code: "internal", detail: t("documents.unsaid", { status }) });
}

/** What went wrong, as a sentence. */
export function sentence(error: unknown): string {
  if (error instanceof Problem) return error.detail;
  return error instanceof Error ? error.message : String(error);
}

function headersOf({ json, version, known, headers = {} }: Request): { [name: string]: string } {
  return {
    ...(json === undefined ? {} : { "Content-Type": "application/json" }),
    ...(version === undefined ? {} : "match" in version ? { "If-Match": quoted(version.match) } : { "If-None-Match": "*" }),
    ...(known === undefined ? {} : { "If-None-Match": quoted(known) }),
    ...headers,
  };
}

function quoted(etag: string): string {
  return etag === "*" ? "*" : `"${etag}"`;
}

function etagOf(response: Response): string | null {
  return response.headers.get("ETag")?.replace(/^W\//, "").replaceAll('"', "") ?? null;
}

export function queryText(query: Request["query"] = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) parts.append(name, String(one));
  }
  const text = parts.toString();
  return text === "" ? "" : `?${text}`;
}

/** Send bytes as they are and hear how far they are (0 to 1); `fetch` does not tell that. */
export function upload<T>(
  path: string,
  content: Blob,
  more: { headers?: { [name: string]: string }; onProgress?: (part: number) => void; signal?: AbortSignal } = {},
): Promise<Answer<T>> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const sentAt = performance.now();
    const stop = (): void => request.abort();
    request.onloadend = () => more.signal?.removeEventListener("abort", stop);
    request.open("POST", path);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    for (const [name, value] of Object.entries(more.headers ?? {})) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => more.onProgress?.(event.total > 0 ? event.loaded / event.total : 0);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("The upload was stopped.", "AbortError"));
    request.onload = () => {
      if (request.status === 401) onUnauthorized(sentAt);
      if (request.status < 200 || request.status >= 300) return reject(problemOf(request.status, request.responseText));
      const etag = request.getResponseHeader("ETag")?.replaceAll('"', "") ?? null;
      try {
        resolve({ value: JSON.parse(request.responseText) as T, etag, status: request.status }); // as above
      } catch {
        reject(unreachable()); // an answer, but not of our server
      }
    };
    more.signal?.addEventListener("abort", stop);
    request.send(content);
  });
}
