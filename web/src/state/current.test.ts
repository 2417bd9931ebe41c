// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, it, vi } from "vitest";

const refresh = vi.fn((_part?: string) => Promise.resolve());
const [saveNow, reload] = [vi.fn(), vi.fn()];
let connected: () => void = () => {};
let tell: (events: readonly { event: string; names?: string[] }[]) => void = () => {};
vi.mock("./workflows", () => ({ refresh }));
vi.mock("./saving", () => ({ saveNow }));
vi.mock("./catalogue", () => ({ reload }));
vi.mock("./connection", () => ({
  useConnection: { getState: () => ({ state: "connected" }) },
  onConnected: (listener: typeof connected) => { connected = listener; return () => { connected = () => {}; }; },
  onSocketEvents: (listener: typeof tell) => { tell = listener; return () => { tell = () => {}; }; },
}));
vi.mock("../api/session", () => ({ useSession: { getState: () => ({ state: "open" }) } }));
const { keepCurrent } = await import("./current");

let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  stop = keepCurrent();
  vi.clearAllMocks();
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

it("asks for the workflows when the server tells of a change, and else only for the drafts", () => {
  vi.advanceTimersByTime(11_000);
  expect(refresh.mock.calls).toEqual([["drafts"], ["drafts"]]);
  tell([{ event: "job" }]);
  expect(refresh).toHaveBeenCalledTimes(2);
  tell([{ event: "workflows", names: ["a"] }]);
  expect(refresh.mock.calls.at(-1)).toEqual([]);
});

it("gives the server what it missed and asks for everything when the connection comes back", () => {
  connected();
  expect([saveNow, reload, refresh].map((one) => one.mock.calls.length)).toEqual([1, 1, 1]);
});

it("asks for everything once a minute all the same", () => {
  vi.advanceTimersByTime(66_000);
  expect(refresh.mock.calls.filter((call) => call.length === 0)).toHaveLength(1);
});

it("asks for nothing any more when it has ended", () => {
  stop();
  connected();
  tell([{ event: "workflows" }]);
  document.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(66_000);
  expect(refresh).not.toHaveBeenCalled();
});
