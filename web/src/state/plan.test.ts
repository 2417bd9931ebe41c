import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { setInput, setNodeView } from "../model/edit";
import { useDocuments } from "./documents";
import { usePlan } from "./plan";
import { type Request, json, openAlone, serve } from "./testing";

vi.mock("./connection", async (original) => ({ ...(await original<object>()), onConnected: (opened: () => void) => void openers.push(opened) }));
const openers = vi.hoisted((): (() => void)[] => []);
/** The connection is there, for the first time or again. */
const connected = (): void => openers.forEach((opened) => opened());

const PLAN = { nodes: [{ id: "draw", type: "draw", state: "run", tasks: 1, running: 1, reason: "not remembered", place: "device", seconds: 2, peak_bytes: 5 }], seconds: 2, peak_bytes: {}, absent: {} };
const plans = (requests: readonly Request[]): Request[] => requests.filter((request) => request.path === "/v1/workflows/plan");
const edit = (port: string, value: string | number): void => useDocuments.getState().apply("edit", setInput("", "draw", port, value));

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
});

it("plans 300 ms after the last edit, once, and never for looks", async () => {
  const requests = serve(() => json(PLAN));
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  expect(plans(requests)).toHaveLength(1);
  edit("seed", 8);
  await vi.advanceTimersByTimeAsync(200);
  edit("seed", 9);
  await vi.advanceTimersByTimeAsync(299);
  expect(plans(requests)).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(plans(requests)).toHaveLength(2);
  expect(plans(requests)[1]?.body).toMatchObject({ workflow: { nodes: { draw: { inputs: { seed: 9 } } } } });
  useDocuments.getState().apply("titled", setNodeView("", ["draw"], { title: "Mine", x: 40 }));
  await vi.advanceTimersByTimeAsync(5000);
  expect(plans(requests)).toHaveLength(2);
});

it("marks what an edit touches as stale at once, until the plan has come", async () => {
  serve(() => json(PLAN));
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  edit("seed", 8);
  expect([...usePlan.getState().stale]).toEqual(["draw"]);
  await vi.advanceTimersByTimeAsync(300);
  expect(usePlan.getState().stale.size).toBe(0);
  expect(usePlan.getState().nodes.get("draw")?.state).toBe("run");
});

it("asks nothing when an edit was taken back in time", async () => {
  const requests = serve(() => json(PLAN));
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  edit("seed", 8);
  useDocuments.getState().undo();
  await vi.advanceTimersByTimeAsync(1000);
  expect(plans(requests)).toHaveLength(1);
  expect(usePlan.getState().stale.size).toBe(0);
});

it("drops the older request", async () => {
  const requests = serve(() => new Promise<Response>(() => {}));
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  edit("seed", 8);
  await vi.advanceTimersByTimeAsync(300);
  expect(plans(requests).map((request) => request.signal?.aborted)).toEqual([true, false]);
});

it("shows the problems of a workflow that cannot run", async () => {
  const problems = [{ code: "missing_input", message: "draw needs a text.", node: "draw", port: "text" }];
  serve(() => json({ type: "", title: "", status: 422, code: "invalid_workflow", detail: "draw needs a text.", problems }, 422));
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  expect(usePlan.getState().problems).toEqual(problems);
  expect(usePlan.getState().plan).toBeNull();
});

it("asks again by itself while the server is away", async () => {
  let isAway = true;
  const requests = serve(() => {
    if (isAway) throw new TypeError("no network");
    return json(PLAN);
  });
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  isAway = false;
  await vi.advanceTimersByTimeAsync(3000);
  expect(plans(requests)).toHaveLength(2);
  expect(usePlan.getState().plan).toEqual(PLAN);
});

it("has no plan and no problems while nothing is open", async () => {
  const problems = [{ code: "missing_input", message: "draw needs a text.", node: "draw", port: "text" }];
  serve(() => json({ type: "", title: "", status: 422, code: "invalid_workflow", detail: "draw needs a text.", problems }, 422));
  const draft = openAlone();
  await vi.advanceTimersByTimeAsync(0);
  useDocuments.getState().close(draft);
  expect(usePlan.getState()).toMatchObject({ draft: "", problems: [], plan: null });
});

it("asks anew when the server comes back: what was missing may be there now", async () => {
  const requests = serve(() => json(PLAN));
  openAlone();
  await vi.advanceTimersByTimeAsync(0);
  connected();
  await vi.advanceTimersByTimeAsync(1000);
  const before = plans(requests).length;
  connected();
  await vi.advanceTimersByTimeAsync(1000);
  expect(plans(requests)).toHaveLength(before + 1);
});
