// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { NodeType } from "../model/catalogue";
import { type WorkflowDocument } from "../model/document";
import { setInput } from "../model/edit";
import { useCatalogue } from "./catalogue";
import { useDocuments } from "./documents";
import { batchValues, runActive } from "./run";
import { useRunSettings } from "./run_settings";
import { takeEvents } from "./runs";
import { type Request, SMALL, jobView, json, openAlone, serve } from "./testing";

const seed = { name: "seed", type: "int", optional: false, doc: "", was: [], hint: { hint: "seed" } } as const;
const TYPES = new Map([["draw", { id: "draw", inputs: [seed] } as unknown as NodeType]]);
const seedsOf = (requests: readonly Request[]): unknown[] =>
  requests.filter((request) => request.path === "/v1/jobs").map((request) => (request.body as { workflow: WorkflowDocument }).workflow.nodes["draw"]?.inputs["seed"]);

let jobs = 0;
function accepting(): Request[] {
  return serve((request) => (request.path === "/v1/jobs" ? json(jobView(`job${++jobs}`), 202) : request.path.endsWith("/cancel") ? json(jobView("x")) : json(SMALL)));
}

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
  useCatalogue.setState((state) => ({ catalogue: { ...state.catalogue, types: TYPES } }));
  useRunSettings.setState({ count: 1, onChange: false });
});
afterEach(() => {
  vi.useRealTimers();
});

it("sends n jobs with seed, seed + 1, ... for fixed seeds", async () => {
  const requests = accepting();
  openAlone();
  useRunSettings.setState({ count: 3 });
  await runActive();
  expect(seedsOf(requests)).toEqual([7, 8, 9]);
});

it("leaves random seeds random: the server draws each", async () => {
  const requests = accepting();
  openAlone({ ...SMALL, nodes: { draw: { type: "draw", inputs: { seed: { random: true } } } } });
  useRunSettings.setState({ count: 2 });
  await runActive();
  expect(seedsOf(requests)).toEqual([{ random: true }, { random: true }]);
});

it("advances all fixed seeds together", () => {
  const two: WorkflowDocument = { ...SMALL, nodes: { a: { type: "draw", inputs: { seed: 1 } }, b: { type: "draw", inputs: { seed: 50 } } } };
  expect(batchValues(two, 2)).toEqual({ "a.seed": 3, "b.seed": 52 });
});

it("sends nothing that is to run up to no node", async () => {
  const requests = accepting();
  openAlone();
  await runActive([]);
  expect(requests).toEqual([]);
});

it("runs on change: once after the last edit, and cancels its own older waiting job", async () => {
  const requests = accepting();
  openAlone();
  useRunSettings.setState({ onChange: true });
  const edit = (value: number): void => useDocuments.getState().apply("edit", setInput("", "draw", "seed", value));
  edit(8);
  edit(9);
  await vi.advanceTimersByTimeAsync(600);
  expect(seedsOf(requests)).toEqual([9]);
  edit(10);
  await vi.advanceTimersByTimeAsync(600);
  expect(seedsOf(requests)).toEqual([9, 10]);
  expect(requests.filter((request) => request.path.endsWith("/cancel")).map((request) => request.path)).toEqual([`/v1/jobs/job${jobs - 1}/cancel`]);
  takeEvents([{ event: "snapshot", stream: `job${jobs}`, state: "running", nodes: [] }]);
  edit(11);
  await vi.advanceTimersByTimeAsync(600);
  expect(seedsOf(requests)).toEqual([9, 10, 11]);
  expect(requests.map((request) => request.path)).not.toContain(`/v1/jobs/job${jobs - 1}/cancel`);
});

it("runs on change the document that was edited, also if another is shown by then", async () => {
  const requests = accepting();
  openAlone({ ...SMALL, name: "edited" });
  useRunSettings.setState({ onChange: true });
  useDocuments.getState().apply("edit", setInput("", "draw", "seed", 8));
  useDocuments.getState().add({ ...SMALL, name: "shown" });
  await vi.advanceTimersByTimeAsync(1000);
  const sent = requests.filter((request) => request.path === "/v1/jobs").map((request) => (request.body as { workflow: WorkflowDocument }).workflow.name);
  expect(sent).toEqual(["edited"]);
});
