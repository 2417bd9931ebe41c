import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { loadTheRest, onceMore } from "./later";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("tries again until a part can be loaded", async () => {
  let tries = 0;
  const load = onceMore(() => ((tries += 1) < 3 ? Promise.reject(new Error("away")) : Promise.resolve("part")));
  const loaded = load();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await loaded).toBe("part");
});

it("loads every part while there is time, whatever one of them does", async () => {
  const [bad, good] = [vi.fn(() => Promise.reject(new Error("away"))), vi.fn(() => Promise.resolve(1))];
  onceMore(bad);
  onceMore(good);
  const done = loadTheRest();
  await vi.advanceTimersByTimeAsync(30_000);
  await done;
  expect([bad, good].map((one) => one.mock.calls.length)).toEqual([1, 1]);
});
