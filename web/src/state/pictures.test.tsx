// @vitest-environment happy-dom
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";

import type { ReactNode } from "react";
import { setInput } from "../model/edit";
import { useDocuments } from "./documents";
import { usePictureAge, usePictureJob } from "./pictures";
import { applyEvents } from "./run_events";
import { changeMemory, takeEvents, useRuns } from "./runs";
import { SMALL, json, openAlone, serve } from "./testing";

function Seen({ path }: { readonly path: string }): ReactNode {
  const job = usePictureJob(path);
  return <output>{`${job} ${usePictureAge(path, job)}`}</output>;
}

function follow(draft: string, job: string): void {
  useRuns.setState((state) => ({ documents: new Map([...state.documents, [job, SMALL]]), runs: new Map([...state.runs, [job, applyEvents(undefined, job, [])]]) }));
  changeMemory(draft, (memory) => ({ ...memory, jobs: [...memory.jobs, { id: job, batch: job, set: {} }] }));
}

function tell(job: string, state: string, draw: string): void {
  takeEvents([{ event: "snapshot", stream: job, state, nodes: [{ id: "text", type: "text", state: "done" }, { id: "draw", type: "draw", state: draw }] as never }]);
}

beforeEach(() => {
  localStorage.clear();
  serve(() => json({}, 404));
});
afterEach(cleanup);

it("a picture comes with the end of a run and stays, as the last run's, until the next has made one", () => {
  const draft = openAlone();
  follow(draft, "one");
  tell("one", "running", "running");
  render(<Seen path="draw" />);
  expect(screen.getByRole("status").textContent).toBe("null before");
  act(() => tell("one", "done", "done"));
  expect(screen.getByRole("status").textContent).toBe("one now");
  act(() => {
    follow(draft, "two");
    tell("two", "running", "running");
  });
  expect(screen.getByRole("status").textContent).toBe("one before");
  act(() => tell("two", "done", "done"));
  expect(screen.getByRole("status").textContent).toBe("two now");
});

it("a picture of before an edit of what it depends on says so", () => {
  follow(openAlone(), "one");
  tell("one", "done", "done");
  render(<Seen path="draw" />);
  act(() => useDocuments.getState().apply("edit", setInput("", "text", "value", "b")));
  expect(screen.getByRole("status").textContent).toBe("one old");
});
