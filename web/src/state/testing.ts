/** What tests of this folder share: a document in a tab, answers of the server, and their removal. */

import { vi } from "vitest";

import type { WorkflowDocument } from "../model/document";
import { useDocuments } from "./documents";

export const SMALL: WorkflowDocument = {
  $schema: "s", format: "latentgraph/workflow", version: "1.0",
  nodes: {
    text: { type: "text", inputs: { value: "a" } },
    draw: { type: "draw", inputs: { text: { link: "text.value" }, seed: 7 } },
  },
};

export interface Request {
  readonly path: string;
  readonly method: string;
  readonly body: unknown;
  readonly key: string | null;
  readonly signal: AbortSignal | null | undefined;
}

/** Answer requests with `answer`; what it throws is a network without an answer. Gives the list of requests. */
export function serve(answer: (request: Request) => Response | Promise<Response>): Request[] {
  const requests: Request[] = [];
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    const request: Request = {
      path, method: init.method ?? "GET", body: typeof init.body === "string" ? JSON.parse(init.body) : null,
      key: headers.get("Idempotency-Key"), signal: init.signal,
    };
    requests.push(request);
    return answer(request);
  });
  return requests;
}

export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
}

export function jobView(id: string, more: object = {}): object {
  return {
    id, state: "queued", workflow: "w", priority: 0, client: "page-1", created: 1, started: null, ended: null, seeds: {}, inputs: {},
    targets: null, tries: 0, estimated_seconds: 1, position: 1, retry_of: null, webhook: null, seconds: null, problem: null, links: {},
    device_seconds: null, nodes: [], counts: {}, omitted: 0, messages: [], outputs: {}, absent: {}, ...more,
  };
}

/** Open a document alone; its draft id. */
export function openAlone(document: WorkflowDocument = SMALL): string {
  useDocuments.setState({ open: [], active: "" });
  return useDocuments.getState().add(document);
}
