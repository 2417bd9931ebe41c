import { expect, it } from "vitest";

import { type Catalogue, NO_CATALOGUE, type NodeType } from "./catalogue";
import type { WorkflowDocument } from "./document";
import { heldPorts, withValues } from "./values";

const port = (name: string, type: string): NodeType["inputs"][number] => ({ name, type, optional: false, doc: "", was: [] });
const catalogue: Catalogue = { ...NO_CATALOGUE, types: new Map([["draw", { id: "draw", inputs: [port("seed", "int"), port("text", "text")], outputs: [] } as unknown as NodeType]]) };

const document: WorkflowDocument = {
  $schema: "s", format: "latentgraph/workflow", version: "1.0",
  nodes: { one: { type: "#pair", inputs: { text: "x" } }, two: { type: "#pair", inputs: {} }, own: { type: "draw", inputs: { seed: 1 } } },
  subgraphs: {
    pair: {
      nodes: { a: { type: "draw", inputs: { seed: 2 } }, in: { type: "#deep", inputs: {} } },
      inputs: { text: { to: "a.text" } },
    },
    deep: { nodes: { b: { type: "draw", inputs: { seed: 3, text: "deep" } } } },
  },
};

it("finds what is held inside of instances, and there nothing that is given from outside", () => {
  expect(heldPorts(document, catalogue).filter((one) => one.value !== undefined).map((one) => [one.reference, one.value])).toEqual([
    ["one.text", "x"], ["one/a.seed", 2], ["one/in/b.seed", 3], ["one/in/b.text", "deep"],
    ["two/a.seed", 2], ["two/in/b.seed", 3], ["two/in/b.text", "deep"], ["own.seed", 1],
  ]);
  expect(heldPorts(document, catalogue).map((one) => one.reference)).not.toContain("one/a.text");
});

it("sets a value inside of one instance and leaves the others that share its definition", () => {
  const changed = withValues(document, { "one/in/b.seed": 30, "one/a.seed": 20, "own.seed": 10 });
  const values = Object.fromEntries(heldPorts(changed, catalogue).map((one) => [one.reference, one.value]));
  expect(values).toMatchObject({ "one/in/b.seed": 30, "one/a.seed": 20, "two/in/b.seed": 3, "two/a.seed": 2, "own.seed": 10 });
  expect(document.subgraphs?.["deep"]?.nodes["b"]?.inputs["seed"]).toBe(3);
});

it("changes a definition in place that only this instance uses", () => {
  const { two: _two, ...nodes } = document.nodes;
  const changed = withValues({ ...document, nodes }, { "one/in/b.seed": 30 });
  expect(Object.keys(changed.subgraphs ?? {})).toEqual(["pair", "deep"]);
  expect(changed.nodes["one"]?.type).toBe("#pair");
  expect(changed.subgraphs?.["deep"]?.nodes["b"]?.inputs["seed"]).toBe(30);
});

it("changes nothing for a port that is not there", () => {
  expect(withValues(document, { "gone.seed": 1, "one/gone.seed": 1, "own/a.seed": 1 })).toBe(document);
});
