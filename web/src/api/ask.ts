/** One request to the server: JSON in and out, refusals thrown as they were told. */

import type { ProblemDocument } from "./jobs";

/** The server refused. `status` 0: it did not answer. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly document: ProblemDocument | null,
  ) {
    super(detail);
  }

  /** Whether the same request may be taken a little later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export async function askRaw(path: string, init: RequestInit = {}): Promise<Response> {
  const headers: HeadersInit = { ...(init.body === undefined ? {} : { "Content-Type": "application/json" }), ...init.headers };
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new Refused(0, "no_answer", error instanceof Error ? error.message : String(error), null);
  }
  if (response.ok) return response;
  throw await refusalOf(response);
}

export async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await askRaw(path, init);
  return (response.status === 204 ? undefined : await response.json()) as T; // the server's types are generated from its models
}

async function refusalOf(response: Response): Promise<Refused> {
  try {
    const found = (await response.json()) as ProblemDocument;
    return new Refused(response.status, found.code, found.detail, found);
  } catch {
    return new Refused(response.status, "unknown", `${response.status} ${response.statusText}`, null);
  }
}
