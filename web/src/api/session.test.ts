// @vitest-environment happy-dom

/** The session: opened by the link's token, lost by a 401, and not lost by an answer that is older than it. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";

type Answer = { readonly status: number; readonly after?: Promise<void> };

let answer: (where: string, method: string) => Answer;

/** The modules anew, as a page loads them, at this address. */
async function begin(hash = "") {
  location.hash = hash;
  vi.resetModules();
  const session = await import("./session");
  const client = await import("./client");
  return { ...session, ...client, state: () => session.useSession.getState().state };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("fetch", async (where: string, init: RequestInit = {}) => {
    const { status, after } = answer(where, init.method ?? "GET");
    await after;
    if (status === 0) throw new TypeError("Failed to fetch");
    return new Response(JSON.stringify(status < 300 ? {} : { code: "unauthorized", detail: "No." }), { status });
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("is opened with the token of the link", async () => {
  answer = (_, method) => ({ status: method === "POST" ? 200 : 401 });
  const page = await begin("#token=good");
  await page.beginSession();
  expect([page.state(), location.hash]).toEqual(["open", ""]);
});

it("that is good survives a link with an old token", async () => {
  answer = (_, method) => ({ status: method === "POST" ? 401 : 200 });
  const page = await begin("#token=old");
  await page.beginSession();
  expect(page.state()).toBe("open");
});

it("is asked for again while the server is away", async () => {
  answer = () => ({ status: 0 });
  const page = await begin();
  void page.beginSession();
  await vi.advanceTimersByTimeAsync(100);
  expect(page.state()).toBe("away");
  answer = () => ({ status: 200 });
  await vi.advanceTimersByTimeAsync(2500);
  expect(page.state()).toBe("open");
});

it("is lost by a 401, and not by one to what was asked before it was opened anew", async () => {
  answer = () => ({ status: 200 });
  const page = await begin();
  await page.beginSession();
  let release = (): void => {};
  const late = new Promise<void>((resolve) => { release = resolve; });
  answer = (where) => (where.includes("drafts") ? { status: 401, after: late } : { status: 401 });
  const older = page.listDrafts().catch(() => undefined);
  await page.listWorkflows().catch(() => undefined);
  expect(page.state()).toBe("none");
  answer = () => ({ status: 200 });
  await new Promise((resolve) => setImmediate(resolve));
  await page.enter("token");
  release();
  await older;
  expect(page.state()).toBe("open");
});

it("opened by hand is not closed by an older way of opening it", async () => {
  let release = (): void => {};
  const late = new Promise<void>((resolve) => { release = resolve; });
  answer = (_, method) => (method === "GET" ? { status: 401, after: late } : { status: 200 });
  const page = await begin();
  const older = page.beginSession();
  await page.enter("token");
  release();
  await older;
  expect(page.state()).toBe("open");
});
