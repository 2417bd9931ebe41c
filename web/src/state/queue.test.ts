// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { forget, neighbour, sorted, takeQueueEvents, useQueue, watchQueue } from "./queue";
import { json, serve } from "./testing";

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

/** Open the panel, with lists that are answered when the returned function is called. */
function watch(open: readonly object[], ended: readonly object[]): () => Promise<void> {
  let release = (): void => {};
  const asked = new Promise<void>((resolve) => { release = resolve; });
  serve(async ({ path, method }) => {
    if (method === "DELETE" || !path.startsWith("/v1/jobs?")) return json({ client: "page" });
    await asked;
    return json({ jobs: path.includes("queued") ? open : ended, next: null });
  });
  const stop = watchQueue();
  return async () => {
    release();
    await vi.waitFor(() => expect(useQueue.getState().isLoaded).toBe(true));
    stop();
  };
}
const stateOf = (id: string): string | undefined => useQueue.getState().jobs.get(id)?.state;

afterEach(() => vi.unstubAllGlobals());

it("believes what was told of a job while the lists were on their way", async () => {
  useQueue.setState({ isLoaded: false });
  const answer = watch([{ id: "r", state: "running" }, { id: "a", state: "queued" }, { id: "b", state: "queued" }], []);
  takeQueueEvents([{ event: "end", stream: "all", job: "r", state: "done" }, { event: "job", stream: "all", job: "new", state: "running" }]);
  await forget("b");
  await answer();
  expect(["r", "a", "b", "new", "c"].map(stateOf)).toEqual(["done", "queued", undefined, "running", undefined]);
});

it("believes the end of a job that is in both lists", async () => {
  useQueue.setState({ isLoaded: false });
  await watch([{ id: "x", state: "running" }], [{ id: "x", state: "done" }])();
  expect(stateOf("x")).toBe("done");
});
