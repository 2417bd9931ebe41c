import { afterEach, expect, it, vi } from "vitest";

import { reload, useCatalogue } from "./catalogue";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const NODES = {
  version: "v", types: [{ name: "Number", plain: true }, { name: "Image", plain: false }], fits: { Image: { Image: "direct" } }, packs: [],
  nodes: [{ id: "blur", was: ["soften"], inputs: [], outputs: [] }],
};

it("the catalogue is asked for until the server has read its node types, and then only for news", async () => {
  vi.useFakeTimers();
  const known: (string | undefined)[] = [];
  let isThere = false;
  vi.stubGlobal("fetch", async (where: string, init: { headers: { [name: string]: string } }) => {
    if (where === "/v1/models") return new Response(JSON.stringify({ models: [{ name: "mini" }] }));
    known.push(init.headers["If-None-Match"]);
    if (!isThere) return new Response(JSON.stringify({ code: "catalogue_unavailable", detail: "Wait.", retry_after_s: 2 }), { status: 503 });
    return init.headers["If-None-Match"] === '"e"' ? new Response(null, { status: 304 }) : new Response(JSON.stringify(NODES), { headers: { ETag: '"e"' } });
  });
  const loading = useCatalogue.getState().load();
  await vi.advanceTimersByTimeAsync(100);
  expect(useCatalogue.getState()).toMatchObject({ isLoaded: false, waiting: "Wait." });
  isThere = true;
  await vi.advanceTimersByTimeAsync(2000);
  await loading;
  const { catalogue, models } = useCatalogue.getState();
  expect(catalogue.types.get("soften")).toBe(catalogue.types.get("blur"));
  expect([...catalogue.plain]).toEqual(["Number"]);
  expect([...(models ?? [])]).toEqual(["mini"]);
  await reload();
  expect(useCatalogue.getState().catalogue).toBe(catalogue);
  expect(known).toEqual([undefined, undefined, '"e"']);
});
