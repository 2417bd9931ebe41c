// @vitest-environment happy-dom

import { act, cleanup, render, screen } from "@testing-library/react";
import { Profiler } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { NodePreview } from "../canvas/NodePreview";
import { NodeStatus } from "../canvas/NodeStatus";
import { SeedNote } from "../canvas/SeedNote";
import { setInput, setNodeView } from "../model/edit";
import { useDocuments } from "./documents";
import { catchUp, changeMemory, memoryOf, shownJob, takeEvents, useRuns } from "./runs";
import { applyEvents } from "./run_events";
import { SMALL, jobView, json, openAlone, serve } from "./testing";
import { useShown } from "./shown";

function showing(seeds: object = {}): string {
  const draft = openAlone();
  useRuns.setState({ documents: new Map([["j", SMALL]]), runs: new Map([["j", applyEvents(undefined, "j", [])]]) });
  changeMemory(draft, (memory) => ({ ...memory, jobs: [{ id: "j", batch: "b", set: {} }] }));
  takeEvents([{
    event: "snapshot", stream: "j", state: "running", seeds: seeds as never,
    nodes: [{ id: "text", type: "text", state: "done", seconds: 0.01 }, { id: "draw", type: "draw", state: "running" }] as never,
  }]);
  return draft;
}

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
  serve(() => json({}, 404));
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

it("commits one component for one progress message", () => {
  showing();
  const commits: string[] = [];
  const node = (path: string): React.ReactNode => (
    <Profiler key={path} id={path} onRender={(id) => commits.push(id)}>
      <NodeStatus path={path} />
      <NodePreview path={path} />
    </Profiler>
  );
  render(<>{["text", "draw", "other"].map(node)}</>);
  commits.length = 0;
  act(() => takeEvents([{ event: "progress", stream: "j", node: "draw", step: 3, total: 20, eta_seconds: 4 }]));
  expect(commits).toEqual(["draw"]);
  expect(screen.getByText("3 of 20")).toBeTruthy();
  expect(screen.getByText("4.0 s left")).toBeTruthy();
});

it("shows a run's state on a node only while the node is what the job ran", () => {
  showing();
  render(<NodeStatus path="draw" />);
  expect(screen.getByText("running")).toBeTruthy();
  act(() => useDocuments.getState().apply("titled", setNodeView("", ["draw"], { title: "Mine" })));
  expect(screen.getByText("running")).toBeTruthy();
  act(() => useDocuments.getState().apply("edit", setInput("", "text", "value", "b")));
  expect(screen.queryByText("running")).toBeNull();
  expect(screen.getByText("changed")).toBeTruthy();
  act(() => useDocuments.getState().undo());
  expect(screen.getByText("running")).toBeTruthy();
});

it("shows nothing of a run on a document that is another one", () => {
  showing();
  openAlone({ ...SMALL, nodes: { draw: { type: "else", inputs: {} } } });
  expect(useShown.getState().job).toBeNull();
});

it("keeps the drawn seed when asked to", () => {
  showing({ "draw.seed": 4242 });
  useDocuments.getState().apply("edit", setInput("", "draw", "seed", { random: true }));
  render(<SeedNote path="draw" node="draw" port="seed" />);
  expect(screen.getByText("last run: 4242")).toBeTruthy();
  act(() => screen.getByRole("button").click());
  expect(useDocuments.getState().open[0]?.history.document.nodes["draw"]?.inputs["seed"]).toBe(4242);
  expect(screen.queryByRole("button")).toBeNull();
});

it("learns after a break how jobs ended that nobody followed meanwhile", async () => {
  showing();
  useRuns.setState((state) => ({ runs: new Map(state.runs).set("other", applyEvents(undefined, "other", [{ event: "job", state: "running" }])) }));
  serve((request) => (request.path === "/v1/jobs/other" ? json(jobView("other", { state: "done", seconds: 3 })) : json({}, 404)));
  await catchUp();
  expect(useRuns.getState().runs.get("other")).toMatchObject({ state: "done", seconds: 3 });
});

it("shows of jobs sent together the one that runs", () => {
  const draft = openAlone();
  changeMemory(draft, (memory) => ({ ...memory, jobs: ["old", "one", "two"].map((id) => ({ id, batch: id === "old" ? "a" : "b", set: {} })) }));
  const runs = new Map(["old", "one", "two"].map((id) => [id, applyEvents(undefined, id, [])]));
  const running = (id: string): typeof runs => new Map(runs).set(id, applyEvents(runs.get(id), id, [{ event: "job", state: "running" }]));
  expect(shownJob(memoryOf(draft), runs)).toBe("one");
  expect(shownJob(memoryOf(draft), running("old"))).toBe("one");
  expect(shownJob(memoryOf(draft), running("two"))).toBe("two");
});
