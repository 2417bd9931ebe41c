// @vitest-environment happy-dom

import { beforeEach, expect, test, vi } from "vitest";

import type { JsonObject } from "../model/document";

beforeEach(() => {
  vi.resetModules();
  localStorage.clear();
  delete document.documentElement.dataset["theme"];
});

/** A server that keeps one object. */
function server(values: JsonObject = {}) {
  const state = { values, version: 1, saves: 0 };
  return {
    state,
    change(part: JsonObject) {
      state.values = { ...state.values, ...part };
      state.version++;
    },
    keeper: {
      read: async () => ({ values: state.values, etag: String(state.version) }),
      async save(next: JsonObject, etag: string) {
        if (etag !== String(state.version)) return "changed" as const;
        Object.assign(state, { values: next, version: state.version + 1, saves: state.saves + 1 });
        return { etag: String(state.version) };
      },
    },
  };
}
const load = () => import("./preferences");

test("the theme kept in this browser is there before the server is asked", async () => {
  localStorage.setItem("latentgraph.preferences", JSON.stringify({ values: { theme: "dark", textSize: "l" } }));
  await load();
  expect(document.documentElement.dataset["theme"]).toBe("dark");
  expect(document.documentElement.dataset["text"]).toBe("l");
});

test("what the server keeps is taken, and what makes no sense in it is not", async () => {
  const { syncPreferences, preferences } = await load();
  await syncPreferences(server({ theme: "light", wheel: "sideways", minimap: false }).keeper);
  expect(preferences()).toMatchObject({ theme: "light", wheel: "zoom", minimap: false });
  expect(document.documentElement.dataset["theme"]).toBe("light");
});

test("members of others are sent back as they came", async () => {
  const { syncPreferences, sendPreferences, usePreferences } = await load();
  const { keeper, state } = server({ folder: "x/y", theme: "light" });
  await syncPreferences(keeper);
  usePreferences.getState().set({ theme: "dark" });
  await sendPreferences();
  expect(state.values).toEqual({ folder: "x/y", theme: "dark" });
});

test("a change made elsewhere meanwhile is kept beside ours", async () => {
  const { syncPreferences, sendPreferences, usePreferences } = await load();
  const one = server({ theme: "light", snap: true });
  await syncPreferences(one.keeper);
  one.change({ snap: false, folder: "z" });
  usePreferences.getState().set({ theme: "dark" });
  await sendPreferences();
  expect(one.state.values).toEqual({ theme: "dark", snap: false, folder: "z" });
  expect(usePreferences.getState().snap).toBe(false);
});

test("what was changed while the server was away is sent when it is back, even after a reload", async () => {
  const first = await load();
  first.usePreferences.getState().set({ language: "de" });
  vi.resetModules();
  const second = await load();
  expect(second.preferences().language).toBe("de");
  const one = server({ language: "en" });
  await second.syncPreferences(one.keeper);
  expect(one.state.values).toEqual({ language: "de" });
});

test("storage that holds nonsense changes nothing", async () => {
  localStorage.setItem("latentgraph.preferences", "{nonsense");
  const { preferences } = await load();
  expect(preferences()).toMatchObject({ theme: "system", language: "en", previews: true, wheel: "zoom", textSize: "m", recentTypes: [], typeUses: {} });
});

test("types used last come first, and each is counted", async () => {
  const { noteUse, preferences } = await load();
  for (const type of ["a", "b", "a"]) noteUse(type);
  expect(preferences().recentTypes).toEqual(["a", "b"]);
  expect(preferences().typeUses).toEqual({ a: 2, b: 1 });
});

test.each([[["de-AT", "en"], "de"], [["fr", "en-GB", "de"], "en"], [["ja"], "en"]])("a browser that asks for %j sees the page in %s", async (asked, language) => {
  vi.spyOn(navigator, "languages", "get").mockReturnValue(asked);
  const { preferences } = await load();
  expect(preferences().language).toBe(language);
});
