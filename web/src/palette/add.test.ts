// @vitest-environment happy-dom

import { beforeEach, expect, test } from "vitest";

import { CATALOGUE, CHAIN, link, node, openOnly, selected, shown, steps } from "../commands/testing";
import type { NodeType } from "../model/catalogue";
import type { WorkflowDocument } from "../model/document";
import { preferences, usePreferences } from "../state/preferences";
import { addOfType } from "./add";
import { addables, insertables, linesOf, summary, unwrapped } from "./types";

const type = (id: string): NodeType => {
  const found = CATALOGUE.types.get(id);
  if (found === undefined) throw new Error(id);
  return found;
};
const HEADINGS = { recent: "recent", used: "used", subgraphs: "subgraphs", fitting: "fitting" };
beforeEach(() => usePreferences.setState({ recentTypes: [], typeUses: {} }));

test("a node is added where it was asked for, selected, as one step", () => {
  openOnly(CHAIN);
  expect(addOfType(type("blur"), { at: { x: 10.4, y: 20 } })).toBe("blur");
  expect(shown().nodes["blur"]).toMatchObject({ type: "blur", inputs: {} });
  expect(shown().view?.nodes?.["blur"]).toEqual({ x: 10, y: 20 });
  expect([selected(), steps()]).toEqual([["blur"], 1]);
});

test("a seed that needs a value is drawn anew for each run", () => {
  openOnly(CHAIN);
  addOfType(type("make"));
  expect(shown().nodes["make"]?.inputs).toEqual({ seed: { random: true } });
});

test("a dragged wire is linked to the best port, in the same step", () => {
  openOnly(CHAIN);
  const from = { node: "a", port: "image", side: "output" } as const;
  const [best] = addables(CHAIN, "", CATALOGUE, from).filter((one) => one.type.id === "count");
  expect(best?.port).toBe("image");
  addOfType(type("count"), { from, at: { x: 500, y: 300 } }, best?.port);
  expect(shown().nodes["count"]?.inputs).toEqual({ image: link("a.image") });
  expect(shown().view?.nodes?.["count"]?.x).toBe(500);
  expect(steps()).toBe(1);
});

test("a wire dragged from an input is linked to an output, and the node stands before it", () => {
  openOnly({ ...CHAIN, nodes: { ...CHAIN.nodes, b: node("blur") } });
  addOfType(type("make"), { from: { node: "b", port: "image", side: "input" }, at: { x: 200, y: 100 } }, "image");
  expect(shown().nodes["b"]?.inputs).toEqual({ image: link("make.image") });
  expect(shown().view?.nodes?.["make"]?.x).toBeLessThan(0);
});

test("with the filter dropped, what fits is linked all the same, and what does not is added alone", () => {
  const from = { node: "a", port: "image", side: "output" } as const;
  openOnly(CHAIN);
  addOfType(type("blur"), { from });
  expect(shown().nodes["blur"]?.inputs).toEqual({ image: link("a.image") });
  openOnly(CHAIN);
  addOfType(type("make"), { from });
  expect(shown().nodes["make"]?.inputs).toEqual({ seed: { random: true } });
});

test("only what fits is listed for a port", () => {
  const listed = addables(CHAIN, "", CATALOGUE, { node: "a", port: "image", side: "output" }).map((one) => one.type.id);
  expect(new Set(listed)).toEqual(new Set(["blur", "count", "show"]));
});

test("into a wire goes what takes its type and gives it", () => {
  const listed = insertables(CHAIN, "", CATALOGUE, "b.image");
  expect(listed.map((one) => one.type.id)).toEqual(["blur"]);
  openOnly(CHAIN);
  addOfType(type("blur"), { into: "b.image", at: { x: 1, y: 2 } }, listed[0]?.port, listed[0]?.out);
  expect([shown().nodes["blur"]?.inputs, shown().nodes["b"]?.inputs]).toEqual([{ image: link("a.image") }, { image: link("blur.image") }]);
});

const NESTED: WorkflowDocument = {
  ...CHAIN,
  nodes: { ...CHAIN.nodes, o: node("#outer") },
  subgraphs: { outer: { nodes: { i: node("#inner") } }, inner: { nodes: {} } },
};

test("the document's subgraphs can be added, but never into themselves", () => {
  const ids = (scope: string): string[] => addables(NESTED, scope, CATALOGUE).map((one) => one.type.id).filter((id) => id.startsWith("#"));
  expect(ids("").sort()).toEqual(["#inner", "#outer"]);
  expect(ids("outer")).toEqual(["#inner"]);
  expect(ids("inner")).toEqual([]);
});

test("nothing typed shows what was used last, then most, then categories", () => {
  openOnly(CHAIN);
  for (const id of ["show", "blur"]) addOfType(type(id));
  usePreferences.setState({ typeUses: { count: 9, blur: 1, show: 1 } });
  const lines = linesOf("", addables(CHAIN, "", CATALOGUE), preferences(), false, HEADINGS);
  const shownLines = lines.map((line) => ("heading" in line ? `[${line.heading}]` : line.addable.type.id));
  expect(shownLines).toEqual(["[recent]", "blur", "show", "[used]", "count", "[tests]", "blur", "count", "make", "show"]);
});

test("what is typed is searched in titles, ports and docs", () => {
  const all = addables(CHAIN, "", CATALOGUE);
  const ids = (query: string): string[] => linesOf(query, all, preferences(), false, HEADINGS).flatMap((line) => ("addable" in line ? [line.addable.type.id] : []));
  expect(ids("bl")[0]).toBe("blur");
  expect(ids("radius")).toEqual(["blur"]);
  expect(ids("does show")).toEqual(["show"]);
});

test("of a doc the first sentence is shown, and broken lines are whole again", () => {
  expect(summary("Makes a picture\nof it. Then more.\n\nEven more.")).toBe("Makes a picture of it.");
  expect(unwrapped("One\ntwo.\n\nThree\n  four.")).toBe("One two.\n\nThree four.");
});
