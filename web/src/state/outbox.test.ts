// @vitest-environment happy-dom

import { IDBFactory } from "fake-indexeddb";
import { createStore, keys } from "idb-keyval";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { memoryOf, useRuns } from "./runs";
import { type Request, SMALL, jobView, json, openAlone } from "./testing";

const HOUR = 3600_000;
let clock: number;

/** A page as it is after loading it anew: all modules are fresh, the browser's stores are not. */
async function page(answer: (request: Request) => Response): Promise<{
  submit: typeof import("./submit"); requests: Request[]; memory: (draft: string) => readonly string[];
}> {
  vi.resetModules();
  const testing = await import("./testing");
  const requests = testing.serve(answer);
  const submit = await import("./submit");
  const runs = await import("./runs");
  return { submit, requests, memory: (draft) => runs.memoryOf(draft).jobs.map((job) => job.id) };
}

const away = (): Response => {
  throw new TypeError("no network");
};
const sentKeys = (requests: readonly Request[]): (string | null)[] => requests.filter((one) => one.path === "/v1/jobs").map((one) => one.key);

/** Wait without letting time pass: a page that is gone, which nothing stops here, sends nothing any more. */
async function until(check: () => void | Promise<void>): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    try {
      return await check();
    } catch (error) {
      if (turn === 200) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("indexedDB", new IDBFactory());
  localStorage.clear();
  useRuns.setState({ drafts: new Map() });
  clock = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => clock);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("sends after a reload what was not accepted before it, in its order and with the same keys, once", async () => {
  const draft = openAlone();
  const first = await page(away);
  void first.submit.submit([1, 2].map((seed) => ({ draft, batch: "b", workflow: SMALL, set: { "draw.seed": seed } })));
  await until(() => expect(first.submit.useSubmissions.getState().open[0]?.waiting).toMatch(/does not answer/));
  const [key] = sentKeys(first.requests);
  let count = 0;
  const second = await page((request) => (request.path === "/v1/jobs" ? json(jobView(`job${(count += 1)}`), 202) : json(SMALL)));
  await second.submit.resumeSubmissions();
  expect(sentKeys(second.requests)[0]).toBe(key);
  expect(new Set(sentKeys(second.requests)).size).toBe(2);
  expect(second.memory(draft)).toEqual(["job1", "job2"]);
  expect(second.submit.useSubmissions.getState().open).toEqual([]);
  await until(async () => expect(await keys(createStore("latentgraph-outbox", "jobs"))).toEqual([]));
  const third = await page(() => json(SMALL));
  await third.submit.resumeSubmissions();
  expect(sentKeys(third.requests)).toEqual([]);
});

it("does not send after a reload what was given up", async () => {
  const draft = openAlone();
  const first = await page(away);
  const done = first.submit.submit([{ draft, batch: "b", workflow: SMALL }]);
  await until(() => expect(first.submit.useSubmissions.getState().open[0]?.waiting).toMatch(/does not answer/));
  first.submit.giveUp(draft);
  expect(await done).toEqual([]);
  await until(async () => expect(await keys(createStore("latentgraph-outbox", "jobs"))).toEqual([]));
  const second = await page(() => json(SMALL));
  await second.submit.resumeSubmissions();
  expect(sentKeys(second.requests)).toEqual([]);
});

it("does not send what is so old that the server may have forgotten its key", async () => {
  const draft = openAlone();
  const first = await page(away);
  void first.submit.submit([{ draft, batch: "b", workflow: SMALL }]);
  await until(() => expect(first.submit.useSubmissions.getState().open[0]?.waiting).toMatch(/does not answer/));
  clock += 21 * HOUR;
  const second = await page(() => json(SMALL));
  await second.submit.resumeSubmissions();
  expect(sentKeys(second.requests)).toEqual([]);
  expect(memoryOf(draft).jobs).toEqual([]);
});

it("fills the cell of a sweep that was waiting", async () => {
  const draft = openAlone();
  localStorage.setItem(`latentgraph.runs.${draft}`, JSON.stringify({ jobs: [], opened: null, sweeps: [{ id: "s", created: 1, axes: [], jobs: [null, null] }] }));
  const first = await page(away);
  void first.submit.submit([{ draft, batch: "s", workflow: SMALL, cell: { sweep: "s", at: 1 } }]);
  await until(() => expect(first.submit.useSubmissions.getState().open[0]?.waiting).toMatch(/does not answer/));
  const second = await page((request) => (request.path === "/v1/jobs" ? json(jobView("job1"), 202) : json(SMALL)));
  await second.submit.resumeSubmissions();
  expect(JSON.parse(localStorage.getItem(`latentgraph.runs.${draft}`) ?? "")).toMatchObject({ sweeps: [{ jobs: [null, "job1"] }] });
});
