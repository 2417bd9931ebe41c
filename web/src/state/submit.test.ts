// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { usePlan } from "./plan";
import { memoryOf, useRuns } from "./runs";
import { giveUp, submit, useSubmissions } from "./submit";
import { type Request, SMALL, jobView, json, openAlone, serve } from "./testing";

const sent = (requests: readonly Request[]): Request[] => requests.filter((request) => request.path === "/v1/jobs");

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
});
afterEach(() => {
  vi.useRealTimers();
});

it("sends a job again with the same key after a lost answer, and shows the one job", async () => {
  let tries = 0;
  const requests = serve((request) => {
    if (request.path !== "/v1/jobs") return json(SMALL);
    if ((tries += 1) < 3) throw new TypeError("the connection broke");
    return json(jobView("job1"), 200);
  });
  const draft = openAlone();
  const done = submit([{ draft, batch: "b", workflow: SMALL }]);
  await vi.advanceTimersByTimeAsync(0);
  expect(useSubmissions.getState().open[0]?.waiting).toMatch(/does not answer/);
  await vi.advanceTimersByTimeAsync(2000);
  expect((await done).map((view) => view.id)).toEqual(["job1"]);
  expect(new Set(sent(requests).map((request) => request.key)).size).toBe(1);
  expect(sent(requests)).toHaveLength(3);
  expect(memoryOf(draft).jobs.map((job) => job.id)).toEqual(["job1"]);
  expect(useRuns.getState().runs.has("job1")).toBe(true);
  expect(useSubmissions.getState().open).toEqual([]);
});

it("stops sending when the user gives it up", async () => {
  const requests = serve(() => {
    throw new TypeError("no network");
  });
  const draft = openAlone();
  const done = submit([{ draft, batch: "b", workflow: SMALL }]);
  await vi.advanceTimersByTimeAsync(600);
  giveUp(draft);
  await vi.advanceTimersByTimeAsync(0);
  expect(await done).toEqual([]);
  const count = sent(requests).length;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(sent(requests)).toHaveLength(count);
});

it("cancels on the server a job that was given up while it was on its way", async () => {
  let accept = (): void => {};
  const asked = new Promise<void>((resolve) => { accept = resolve; });
  const requests = serve(async (request) => {
    if (request.path === "/v1/jobs") await asked;
    return request.path === "/v1/jobs" ? json(jobView("late"), 202) : json(jobView("late"));
  });
  const draft = openAlone();
  const done = submit([{ draft, batch: "b", workflow: SMALL }]);
  await vi.advanceTimersByTimeAsync(0);
  giveUp(draft);
  expect(await done).toEqual([]);
  accept();
  await vi.advanceTimersByTimeAsync(0);
  expect(requests.map((request) => request.path)).toContain("/v1/jobs/late/cancel");
  expect(memoryOf(draft).jobs).toEqual([]);
});

it("sends jobs also where the page is no secure context", async () => {
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  serve((request) => (request.path === "/v1/jobs" ? json(jobView("job3"), 202) : json(SMALL)));
  expect((await submit([{ draft: openAlone(), batch: "b", workflow: SMALL }])).map((view) => view.id)).toEqual(["job3"]);
  vi.unstubAllGlobals();
});

it("shows the problems of a refused workflow and does not send it again", async () => {
  const problems = [{ code: "x", message: "draw needs a text.", node: "draw", port: "text" }];
  const requests = serve(() => json({ type: "", title: "", status: 422, code: "invalid_workflow", detail: "draw needs a text.", problems }, 422));
  const draft = openAlone();
  expect(await submit([{ draft, batch: "b", workflow: SMALL }])).toEqual([]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(sent(requests)).toHaveLength(1);
  expect(usePlan.getState().problems).toEqual(problems);
});

it("remembers the jobs of a draft over a reload", async () => {
  serve((request) => (request.path === "/v1/jobs" ? json(jobView("job2"), 202) : json(SMALL)));
  const draft = openAlone();
  await submit([{ draft, batch: "b", workflow: SMALL, set: { "draw.seed": 8 } }]);
  useRuns.setState({ drafts: new Map() }); // as after loading the page anew
  expect(memoryOf(draft).jobs).toEqual([{ id: "job2", batch: "b", set: { "draw.seed": 8 } }]);
});

it("sends none of the jobs after one that is refused", async () => {
  const requests = serve(() => json({ type: "", title: "", status: 422, code: "invalid_workflow", detail: "no", problems: [] }, 422));
  const draft = openAlone();
  expect(await submit([1, 2].map(() => ({ draft, batch: "b", workflow: SMALL })))).toEqual([]);
  expect(sent(requests)).toHaveLength(1);
  expect(useSubmissions.getState().open).toEqual([]);
});
