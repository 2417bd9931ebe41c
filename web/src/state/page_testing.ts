/** For tests of saving: pages with one browser's IndexedDB and one server, in a time that the test lets pass. */

import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, vi } from "vitest";

import type { WorkflowDocument } from "../model/document";
import { FakeServer } from "./fakeServer";

export let server: FakeServer;

/** A page: the modules anew, as a browser loads them, with the same IndexedDB and server. */
export async function openPage() {
  vi.resetModules();
  const documents = await import("./documents");
  const saving = await import("./saving");
  const restoring = await import("./restoring");
  const workflows = await import("./workflows");
  const { useConflicts } = await import("./conflicts");
  const { useSession } = await import("../api/session");
  useSession.setState({ state: "open" });
  const close = saving.startSaving();
  pages.push(close);
  const { useDocuments } = documents;
  return {
    close, restore: restoring.restore, useDocuments, useSaving: saving.useSaving, useConflicts, workflows, openUntitled: saving.openUntitled, wouldBeLost: saving.wouldBeLost, saveNow: saving.saveNow,
    type: (text: string) => useDocuments.getState().apply("edit.undo", (now) => ({ ...now, description: text })),
    texts: () => useDocuments.getState().open.map((one) => one.history.document.description),
    state: () => saving.useSaving.getState().states[useDocuments.getState().active]?.state,
    question: () => useConflicts.getState().asked[0],
  };
}

/** A page with a new document, whose draft is `ID`. */
export async function openNew() {
  const page = await openPage();
  page.openUntitled(EMPTY, null, ID);
  return page;
}

const pages: (() => void)[] = [];
export const EMPTY: WorkflowDocument = { $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0", nodes: {} };
export const ID = "d1";

/** Let time pass, and everything that follows from it happen. */
export async function wait(ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed += 50) {
    await vi.advanceTimersByTimeAsync(passed === 0 ? 0 : 50);
    await settled();
  }
}

/** fake-indexeddb and fetch answer in real turns of the event loop. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Of something that waits for timers. */
export async function done<T>(promise: Promise<T>): Promise<T> {
  let isDone = false;
  const end = (): void => { isDone = true; };
  promise.then(end, end);
  for (let tries = 0; !isDone && tries < 200; tries += 1) await wait(50);
  return promise;
}

/** Each test has a browser and a server of its own. */
export function onStage(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
    vi.stubGlobal("indexedDB", new IDBFactory());
    server = new FakeServer();
    vi.stubGlobal("fetch", server.fetch);
  });

  afterEach(() => {
    pages.splice(0).forEach((close) => close());
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
}
