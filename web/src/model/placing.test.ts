import { describe, expect, it } from "vitest";

import { NO_CATALOGUE } from "./catalogue";
import type { WorkflowDocument } from "./document";
import { placesFor, withPlaces } from "./placing";

const link = (from: string): { link: string } => ({ link: from });
const bare = {
  format: "latentgraph/workflow", version: "1.0",
  nodes: { a: { type: "x", inputs: {} }, b: { type: "x", inputs: { in: link("a.out") } }, c: { type: "x", inputs: { in: link("b.out") } } },
} as unknown as WorkflowDocument;

describe("places of nodes without one", () => {
  it("follow the links from left to right", () => {
    const places = placesFor(bare, "", NO_CATALOGUE);
    expect(places["a"]!.x).toBeLessThan(places["b"]!.x);
    expect(places["b"]!.x).toBeLessThan(places["c"]!.x);
  });

  it("lie below what has a place", () => {
    const partly = { ...bare, view: { nodes: { a: { x: 100, y: 500 } } } } as unknown as WorkflowDocument;
    const places = placesFor(partly, "", NO_CATALOGUE);
    expect(places["a"]).toBeUndefined();
    expect(Math.min(places["b"]!.y, places["c"]!.y)).toBeGreaterThan(530);
  });

  it("are written as they were shown, and a document that has them all stays the same object", () => {
    const shown = placesFor(bare, "", NO_CATALOGUE);
    const full = withPlaces(bare, NO_CATALOGUE);
    expect(full.view?.nodes?.["b"]).toMatchObject(shown["b"]!);
    expect(withPlaces(full, NO_CATALOGUE)).toBe(full);
  });
});
