import { describe, expect, it } from "vitest";

import { type LayoutRequest, layered } from "./columns";
import { byDagre } from "./dagre";
import { withStacks } from "./stacks";

const CHAIN: LayoutRequest = {
  nodes: [
    { id: "source", width: 240, height: 100 }, { id: "a", width: 240, height: 32, isFolded: true },
    { id: "b", width: 240, height: 32, isFolded: true }, { id: "sink", width: 240, height: 100 },
  ],
  links: [{ from: "source", to: "a" }, { from: "a", to: "b" }, { from: "b", to: "sink" }],
  at: { x: 10, y: 20 },
};

describe.each([["our own pass", layered], ["dagre", byDagre]])("folded nodes laid out by %s", (_, lay) => {
  it("stand in a row below the node that feeds them", () => {
    const { source, a, b, sink } = withStacks(lay)(CHAIN);
    expect([source, a, b].map((place) => place?.x)).toEqual([10, 10, 10]);
    expect([source, a, b].map((place) => place?.y)).toEqual([20, 140, 192]);
    expect(sink?.x).toBeGreaterThanOrEqual(250);
  });

  it("stand alone where something else is fed too, and in a circle", () => {
    const links = [...CHAIN.links, { from: "source", to: "sink" }, { from: "a", to: "sink" }];
    const places = withStacks(lay)({ ...CHAIN, links });
    expect(new Set(Object.values(places).map((place) => place.x)).size).toBe(4);
    const circle = withStacks(lay)({ nodes: CHAIN.nodes.slice(1, 3), links: [{ from: "a", to: "b" }, { from: "b", to: "a" }] });
    expect(Object.keys(circle)).toEqual(["a", "b"]);
  });
});
