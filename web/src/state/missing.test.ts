import { describe, expect, it } from "vitest";

import type { Catalogue, NodeType } from "../model/catalogue";
import { emptyDocument } from "../model/document";
import { missingIn, packsOf } from "./missing";

const load = { id: "load", inputs: [{ name: "model", hint: { hint: "model", kind: "" } }] } as unknown as NodeType;
const catalogue: Catalogue = { version: "1", types: new Map([["load", load]]), plain: new Set(), fits: {} };
const document = {
  ...emptyDocument(),
  nodes: { a: { type: "load", inputs: { model: "big" } }, b: { type: "shapes/draw", inputs: {} }, c: { type: "#sub", inputs: {} } },
  subgraphs: { sub: { nodes: { d: { type: "gone", inputs: {} }, e: { type: "load", inputs: { model: "mini" } } } } },
};

describe("what is missing", () => {
  it("is found in the document and its subgraphs", () => {
    expect(missingIn(document, catalogue, new Set(["mini"]))).toEqual({ types: ["gone", "shapes/draw"], models: ["big"] });
  });

  it("is nothing as long as nothing is known", () => {
    expect(missingIn(document, { ...catalogue, version: "" }, new Set())).toEqual({ types: [], models: [] });
    expect(missingIn(document, catalogue, null).models).toEqual([]);
  });

  it("names the packs to install", () => {
    expect(packsOf(["gone", "shapes/draw", "shapes/fill"])).toEqual(["shapes"]);
  });
});
