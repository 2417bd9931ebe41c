/** Documents to begin a flow with, and what the server keeps of them. */

import { randomUUID } from "node:crypto";

import type { Page } from "playwright-core";

import type { Rig } from "./flow";
import { nodesShown } from "./page";
import type { Answer, Server } from "./server";
import { until } from "./until";

/** A workflow of these nodes; `more`: its name, outputs, view ... */
export function workflowOf(nodes: Answer, more: Readonly<Record<string, unknown>> = {}): Answer {
  return { $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0", nodes, ...more };
}

/** The page with this document open, as an earlier page left it. */
export async function openWith({ server, open }: Rig, document: Answer): Promise<Page> {
  const answer = await server.fetch("PUT", `/v1/drafts/${randomUUID()}`, { document, workflow: null, base: null }, { "If-None-Match": "*" });
  if (!answer.ok) throw new Error(`the draft: ${answer.status} ${await answer.text()}`);
  const page = await open();
  await nodesShown(page);
  return page;
}

/** What the server keeps of the only document. */
export async function kept(server: Server): Promise<Answer> {
  return (await server.drafts())[0]?.document;
}

/** Wait until the server keeps a document of which this is true. */
export function untilKept(server: Server, what: string, is: (document: Answer) => boolean): Promise<Answer> {
  return until(what, async () => {
    const document = await kept(server);
    return document !== undefined && is(document) ? document : null;
  });
}
