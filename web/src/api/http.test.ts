// @vitest-environment happy-dom

import { afterEach, describe, expect, it, vi } from "vitest";

import { copyWorkflow, listNodes, readWorkflow, saveWorkflow, valueUrl } from "./client";
import { Problem, listenUnauthorized, problemOf } from "./http";
import { takeToken } from "./session";

afterEach(() => vi.unstubAllGlobals());

function answers(status: number, body: string | null, headers: { [name: string]: string } = {}) {
  const fetch = vi.fn(async (_where: string, _init: RequestInit) => new Response(body, { status, headers }));
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (error: unknown) => error);

describe("a refusal", () => {
  it("is thrown with the server's own sentence, code, place and version", async () => {
    answers(412, JSON.stringify({ code: "precondition_failed", detail: "It was changed.", etag: "abc", node: "n", port: "p" }));
    const problem = (await failure(copyWorkflow("a", "b"))) as Problem;
    expect(problem).toBeInstanceOf(Problem);
    expect(problem).toMatchObject({ status: 412, code: "precondition_failed", detail: "It was changed.", etag: "abc", node: "n", port: "p", isPassing: false });
  });

  it("that is no problem document is one all the same", () => {
    expect(problemOf(502, "<html>Bad gateway</html>")).toMatchObject({ status: 502, code: "internal", isPassing: true });
  });

  it("is made of a connection that breaks", async () => {
    vi.stubGlobal("fetch", async () => { throw new TypeError("Failed to fetch"); });
    expect(await failure(readWorkflow("a"))).toMatchObject({ status: 0, code: "unreachable", isPassing: true });
  });

  it("for want of a session is told to who listens", async () => {
    const listener = vi.fn();
    listenUnauthorized(listener);
    answers(401, JSON.stringify({ code: "unauthorized", detail: "No session." }));
    await failure(readWorkflow("a"));
    expect(listener).toHaveBeenCalledOnce();
    listenUnauthorized(() => {});
  });
});

describe("a request", () => {
  it("says which version it changes, and names are one part of the path", async () => {
    const fetch = answers(200, "{}", { ETag: '"new"' });
    const answer = await saveWorkflow("a b/c", { format: "latentgraph/workflow" } as never, { match: "old" });
    expect(fetch.mock.calls[0]?.[0]).toBe("/v1/workflows/a%20b%2Fc");
    expect(fetch.mock.calls[0]?.[1]).toMatchObject({ method: "PUT", headers: { "If-Match": '"old"', "Content-Type": "application/json" } });
    expect(answer.etag).toBe("new");
  });

  it("creates only with If-None-Match", async () => {
    const fetch = answers(200, "{}");
    await saveWorkflow("a", {} as never, { create: true });
    expect(fetch.mock.calls[0]?.[1].headers).toMatchObject({ "If-None-Match": "*" });
  });

  it("for what is known already is answered with nothing", async () => {
    answers(304, null);
    expect(await listNodes("known")).toBeNull();
  });
});

it("the token is taken out of the address, and nothing else", () => {
  history.replaceState(null, "", "/?a=1#token=secret&view=x");
  expect(takeToken()).toBe("secret");
  expect(location.href).toMatch(/\/\?a=1#view=x$/);
  expect(takeToken()).toBeNull();
});

it("the run id of a nested node is one part of a value's address", () => {
  expect(valueUrl("j", "upscale/sampler", "latents", { form: "png" })).toBe("/v1/jobs/j/values/upscale%2Fsampler/latents?form=png");
});
