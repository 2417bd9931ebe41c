import { beforeEach, expect, it } from "vitest";

import { neighbour, sorted, takeQueueEvents, useQueue } from "./queue";

const queue = (order: string[]): never => ({ queued: order.length, running: 1, seconds: 9, is_paused: false, is_draining: false, order }) as never;

beforeEach(() => {
  useQueue.setState({ jobs: new Map(), view: null });
  takeQueueEvents([
    { event: "snapshot", stream: "all", jobs: [{ job: "r", state: "running", workflow: "w", client: "x", started: 1 }] as never, queue: queue(["a", "b", "c"]) },
    { event: "job", stream: "all", job: "a", state: "queued", client: "x" },
    { event: "job", stream: "all", job: "b", state: "queued", client: "y" },
    { event: "job", stream: "all", job: "c", state: "queued", client: "x" },
  ]);
});

it("lists what runs, what waits in its order, and what has ended, of all clients", () => {
  takeQueueEvents([{ event: "queue", stream: "all", ...(queue(["c", "a", "b"]) as object) }, { event: "end", stream: "all", job: "r", state: "done", ended: 5 }]);
  const { running, waiting, ended } = sorted(useQueue.getState());
  expect([running, waiting, ended].map((jobs) => jobs.map((job) => job.id))).toEqual([[], ["c", "a", "b"], ["r"]]);
});

it("moves a job only past one of the same client", () => {
  const job = useQueue.getState().jobs.get("c")!;
  expect(neighbour(job, -1)?.id).toBe("a");
  expect(neighbour(job, 1)).toBeUndefined();
});

it("forgets jobs that were deleted", () => {
  takeQueueEvents([{ event: "deleted", stream: "all", job: "b" }]);
  expect(useQueue.getState().jobs.has("b")).toBe(false);
});
