import { describe, expect, it } from "vitest";

import { ancestors, descendants, linksOf } from "./graph";
import { nodes, workflow } from "./testing";

const chain = workflow({ c: ["blur", { image: "b.image" }], a: ["load"], b: ["blur", { image: "a.image", radius: 2 }], d: ["save", { image: "a.image" }] });

describe("the graph of a scope", () => {
  it("lists its links in the file's order", () => {
    expect(linksOf(chain)).toEqual([{ from: "b.image", to: "c.image" }, { from: "a.image", to: "b.image" }, { from: "a.image", to: "d.image" }]);
  });

  it("knows what lies before and after nodes, not the nodes themselves", () => {
    expect(ancestors(chain, ["c"])).toEqual(new Set(["a", "b"]));
    expect(descendants(chain, ["a"])).toEqual(new Set(["b", "c", "d"]));
    expect(descendants(chain, ["none"])).toEqual(new Set());
  });

  it("finds all nodes of a circle before each of them", () => {
    const round = workflow({ a: ["blur", { image: "b.image" }], b: ["blur", { image: "a.image" }], c: ["load"] });
    expect(ancestors(round, ["a"])).toEqual(new Set(["a", "b"]));
  });

  it("passes over links to nodes that are not there, whatever their names", () => {
    const scope = { nodes: nodes({ a: ["blur", { image: "constructor.image" }] }) };
    expect(ancestors(scope, ["a"])).toEqual(new Set());
  });
});
