import { beforeEach, expect, test, vi } from "vitest";

import type { Output } from "../api/results";
import { useGallery, withNewest } from "./gallery";

const output = (id: string, starred = false): Output => ({
  id, file: `${id}.png`, kind: "image", created: 0, job: null, workflow: "w", prompt: null, model: null, seed: 1, width: 64, height: 64, starred,
  links: { self: "", file: "", thumbnail: "", workflow: "", job: null },
});
const page = (ids: readonly string[], next: string | null = null): { outputs: Output[]; next: string | null } => ({
  outputs: ids.map((id) => output(id)), next,
});
const ids = (): string[] => useGallery.getState().outputs.map((one) => one.id);

function answers(...bodies: (object | number)[]): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push(`${init.method ?? "GET"} ${url}`);
    const body = bodies.shift() ?? 204;
    if (typeof body === "number") {
      return Promise.resolve(new Response(body === 204 ? null : JSON.stringify({ code: "bad", detail: "It broke. Try again." }), { status: body }));
    }
    return Promise.resolve(new Response(JSON.stringify(body)));
  });
  return asked;
}

beforeEach(() => useGallery.setState({ filter: {}, outputs: [], next: null, state: "new", problem: "", compare: null }));

test("the next page is asked for by its cursor and follows the first", async () => {
  const asked = answers(page(["d", "c"], "after-c"), page(["c", "b"], null));
  await useGallery.getState().refresh();
  await useGallery.getState().more();
  await useGallery.getState().more();
  expect(ids()).toEqual(["d", "c", "b"]);
  expect(asked).toEqual(["GET /v1/outputs?limit=60", "GET /v1/outputs?limit=60&cursor=after-c"]);
});

test("a filter begins the list again and goes with every page", async () => {
  const asked = answers(page(["a"], null), page(["s"], "n"), page(["t"], null));
  await useGallery.getState().refresh();
  await useGallery.getState().setFilter({ starred: true, text: "red" });
  await useGallery.getState().more();
  expect(ids()).toEqual(["s", "t"]);
  expect(asked.slice(1)).toEqual(["GET /v1/outputs?limit=60&starred=true&text=red", "GET /v1/outputs?limit=60&starred=true&text=red&cursor=n"]);
});

test("the answer to an older filter is dropped", async () => {
  const waiting: ((answer: Response) => void)[] = [];
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => waiting.push(resolve)));
  const first = useGallery.getState().setFilter({ text: "r" });
  const second = useGallery.getState().setFilter({ text: "re" });
  waiting[1]?.(new Response(JSON.stringify(page(["new"]))));
  waiting[0]?.(new Response(JSON.stringify(page(["old"]))));
  await Promise.all([first, second]);
  expect(ids()).toEqual(["new"]);
});

test("a refresh puts new results in front and keeps the pages below", async () => {
  answers(page(["d", "c"], "c"), page(["b", "a"], null), page(["e", "d"], "d"));
  await useGallery.getState().refresh();
  await useGallery.getState().more();
  await useGallery.getState().refresh();
  expect(ids()).toEqual(["e", "d", "c", "b", "a"]);
});

test("a refresh that shares nothing with the list begins it again", () => {
  expect(withNewest(page(["b", "a"], null), page(["z", "y"], "y"))).toEqual(page(["z", "y"], "y"));
});

test("a refresh that finds nothing new changes nothing", () => {
  const shown = page(["b", "a"], null);
  expect(withNewest(shown, page(["b", "a"], null))).toBe(shown);
});

test("a star is shown at once and taken back if the server refuses", async () => {
  answers(page(["a"]), 507);
  await useGallery.getState().refresh();
  const starring = useGallery.getState().star("a", true);
  expect(useGallery.getState().outputs[0]?.starred).toBe(true);
  await expect(starring).rejects.toThrow("It broke. Try again.");
  expect(useGallery.getState().outputs[0]?.starred).toBe(false);
});

test("what could not be deleted stays, and what was is gone", async () => {
  answers(page(["b", "a"]), 403, 204);
  await useGallery.getState().refresh();
  await expect(useGallery.getState().remove("a")).rejects.toThrow();
  expect(ids()).toEqual(["b", "a"]);
  await useGallery.getState().remove("a");
  expect(ids()).toEqual(["b"]);
});

test("a list that failed says why and is asked for again by a refresh", async () => {
  answers(500, page(["a"]));
  await useGallery.getState().refresh();
  expect(useGallery.getState()).toMatchObject({ state: "failed", problem: "It broke. Try again." });
  await useGallery.getState().refresh();
  expect(ids()).toEqual(["a"]);
});

/** Answers that come when they are given, in the order they were asked for. */
function givenAnswers(): ((body: object | null) => void)[] {
  const waiting: ((body: object | null) => void)[] = [];
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => {
    waiting.push((body) => resolve(new Response(body === null ? null : JSON.stringify(body), { status: body === null ? 204 : 200 })));
  }));
  return waiting;
}

test("a list that was asked for before a star does not take it away", async () => {
  useGallery.setState({ outputs: [output("a")], state: "ready" });
  const given = givenAnswers();
  const refreshing = useGallery.getState().refresh();
  const starring = useGallery.getState().star("a", true);
  await vi.waitFor(() => expect(given).toHaveLength(2));
  given[1]?.(null);
  await starring;
  given[0]?.(page(["a"]));
  await refreshing;
  expect(useGallery.getState().outputs[0]?.starred).toBe(true);
});

test("a list that was asked for before a deletion does not bring it back", async () => {
  useGallery.setState({ outputs: [output("b"), output("a")], state: "ready" });
  const given = givenAnswers();
  const refreshing = useGallery.getState().refresh();
  const removing = useGallery.getState().remove("b");
  given[1]?.(null);
  await removing;
  given[0]?.(page(["b", "a"]));
  await refreshing;
  expect(ids()).toEqual(["a"]);
});

test("a star that is taken back at once goes to the server after the star", async () => {
  useGallery.setState({ outputs: [output("a")], state: "ready" });
  const given = givenAnswers();
  const first = useGallery.getState().star("a", true);
  const second = useGallery.getState().star("a", false);
  await vi.waitFor(() => expect(given).toHaveLength(1));
  given[0]?.(null);
  await vi.waitFor(() => expect(given).toHaveLength(2));
  given[1]?.(null);
  await Promise.all([first, second]);
  expect(useGallery.getState().outputs[0]?.starred).toBe(false);
});
