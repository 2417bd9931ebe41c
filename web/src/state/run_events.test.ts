import { expect, it } from "vitest";

import type { SocketEvent } from "../api/socket";
import { applyEvents } from "./run_events";

const begun = applyEvents(undefined, "j", [
  {
    event: "snapshot", state: "running", workflow: "w", seeds: { "a.seed": 5 }, created: 1, started: 2,
    nodes: [{ id: "a", type: "t", state: "waiting" }, { id: "b", type: "t", state: "waiting" }],
  } as SocketEvent,
]);

it("takes a snapshot as everything there is", () => {
  expect(begun.state).toBe("running");
  expect(begun.seeds).toEqual({ "a.seed": 5 });
  expect([...begun.rows.keys()]).toEqual(["a", "b"]);
});

it("changes only the row that a progress message names", () => {
  const after = applyEvents(begun, "j", [{ event: "progress", node: "a", step: 3, total: 20, eta_seconds: 1.5 }]);
  expect(after.rows.get("a")).toEqual({ id: "a", type: "t", state: "running", progress: { step: 3, total: 20, eta_seconds: 1.5 } });
  expect(after.rows.get("b")).toBe(begun.rows.get("b"));
  expect(begun.rows.get("a")?.state).toBe("waiting");
});

it("forgets the progress of a node that has ended", () => {
  const after = applyEvents(begun, "j", [
    { event: "progress", node: "a", step: 3, total: 20, eta_seconds: null },
    { event: "node", node: "a", state: "done", seconds: 2.5, device: "cpu:0" },
  ]);
  expect(after.rows.get("a")).toEqual({ id: "a", type: "t", state: "done", seconds: 2.5, device: "cpu:0" });
});

it("counts the elements of a mapped node", () => {
  const after = applyEvents(begun, "j", [
    { event: "node", node: "a", element: 0, state: "done", seconds: 1, elements: { total: 3, waiting: 2, done: 1 } },
    { event: "node", node: "a", element: 1, state: "done", seconds: 2, elements: { total: 3, waiting: 1, done: 2 } },
  ] as unknown as SocketEvent[]);
  expect(after.rows.get("a")).toMatchObject({ state: "running", seconds: 3, elements: { total: 3, done: 2 } });
});

it("forgets the progress of a mapped node when its last element has ended", () => {
  const after = applyEvents(begun, "j", [
    { event: "node", node: "a", element: 0, state: "running", elements: { total: 2, waiting: 0, running: 1, done: 1 } },
    { event: "progress", node: "a", element: 0, step: 9, total: 10, eta_seconds: null },
    { event: "node", node: "a", element: 0, state: "done", elements: { total: 2, waiting: 0, running: 0, done: 2 } },
  ] as unknown as SocketEvent[]);
  expect(after.rows.get("a")?.state).toBe("done");
  expect(after.rows.get("a")?.progress).toBeUndefined();
});

it("leaves nothing running in a job that has ended", () => {
  const after = applyEvents(begun, "j", [
    { event: "progress", node: "a", step: 1, total: 2, eta_seconds: null },
    { event: "end", state: "cancelled", ended: 9, seconds: 7 },
  ]);
  expect([...after.rows.values()].map((row) => row.state)).toEqual(["cancelled", "cancelled"]);
  expect(after.seconds).toBe(7);
});

it("says nothing of nodes that were not wanted when a job is done", () => {
  const planned = [{ id: "a", type: "t", state: "waiting" }, { id: "b", type: "t", state: "skipped" }, { id: "c", type: "t", state: "skipped", message: "b is muted" }];
  const after = applyEvents(begun, "j", [
    { event: "planned", nodes: planned } as SocketEvent,
    { event: "node", node: "a", state: "done", seconds: 1 },
    { event: "end", state: "done" },
  ]);
  expect([...after.rows.keys()]).toEqual(["a", "c"]);
});

it("begins anew when the process of a job died and it waits again", () => {
  const after = applyEvents(begun, "j", [{ event: "job", state: "queued" }]);
  expect(after.rows.size).toBe(0);
});
