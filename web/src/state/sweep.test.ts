import { expect, it } from "vitest";

import { NO_CATALOGUE, type NodeType } from "../model/catalogue";
import type { WorkflowDocument } from "../model/document";
import { cellsOf, pictureOf, readValues, sweepInputs } from "./sweep";

it("reads numbers one per line or with commas, and ranges", () => {
  expect(readValues("1\n2, 3\n5..8", "number")).toEqual({ values: [1, 2, 3, 5, 6, 7, 8] });
  expect(readValues("0..1 by 0.25", "number")).toEqual({ values: [0, 0.25, 0.5, 0.75, 1] });
  expect(readValues("3..1", "number")).toEqual({ values: [3, 2, 1] });
});

it("says which part is no number", () => {
  expect(readValues("1\ntwo", "number")).toEqual({ bad: "two" });
});

it("keeps texts as they are, one per line", () => {
  expect(readValues("a red circle, large\n\n a star ", "text")).toEqual({ values: ["a red circle, large", "a star"] });
});

it("makes a cell of each combination, and sets every port of a named input", () => {
  expect(cellsOf([{ ports: ["a.x", "b.x"], label: "x", values: [1, 2] }, { ports: ["a.y"], label: "y", values: ["p", "q"] }])).toEqual([
    { "a.x": 1, "b.x": 1, "a.y": "p" }, { "a.x": 1, "b.x": 1, "a.y": "q" },
    { "a.x": 2, "b.x": 2, "a.y": "p" }, { "a.x": 2, "b.x": 2, "a.y": "q" },
  ]);
});

it("offers named inputs first, then other literal ports, and no links", () => {
  const port = (name: string, type: string): NodeType["inputs"][number] => ({ name, type, optional: false, doc: "", was: [] });
  const type = { id: "n", inputs: [port("steps", "int"), port("image", "Image"), port("prompt", "text"), port("scale", "float")] } as unknown as NodeType;
  const document: WorkflowDocument = {
    $schema: "s", format: "latentgraph/workflow", version: "1.0",
    nodes: { a: { type: "n", inputs: { steps: 4, prompt: "x", scale: { link: "b.value" } } } },
    inputs: { prompt: { to: "a.prompt", label: "Prompt" } },
  };
  expect(sweepInputs(document, { ...NO_CATALOGUE, types: new Map([["n", type]]) }).map(({ label, ports, kind }) => ({ label, ports, kind }))).toEqual([
    { label: "Prompt", ports: ["a.prompt"], kind: "text" },
    { label: "a.steps", ports: ["a.steps"], kind: "number" },
  ]);
});

it("finds the picture among the outputs of a run", () => {
  expect(pictureOf({ n: 3, image: "mini-1.png" })).toBe("mini-1");
  expect(pictureOf({ text: "no picture" })).toBeNull();
});

it("offers what stands inside of an instance", () => {
  const type = { id: "n", outputs: [], inputs: [{ name: "steps", type: "int", optional: false, doc: "", was: [] }] } as unknown as NodeType;
  const document: WorkflowDocument = {
    $schema: "s", format: "latentgraph/workflow", version: "1.0", nodes: { group: { type: "#g", inputs: {} } },
    subgraphs: { g: { nodes: { a: { type: "n", inputs: { steps: 4 } } } } },
  };
  expect(sweepInputs(document, { ...NO_CATALOGUE, types: new Map([["n", type]]) }).map((input) => input.ports)).toEqual([["group/a.steps"]]);
});

it("tells two named inputs with one label apart by their names", () => {
  const port = (name: string): NodeType["inputs"][number] => ({ name, type: "int", optional: false, doc: "", was: [] });
  const type = { id: "n", inputs: [port("a"), port("b")] } as unknown as NodeType; // the rest of a type plays no part
  const document: WorkflowDocument = {
    $schema: "s", format: "latentgraph/workflow", version: "1.0", nodes: { n: { type: "n", inputs: { a: 1, b: 2 } } },
    inputs: { first: { to: "n.a", label: "Steps" }, second: { to: "n.b", label: "Steps" } },
  };
  expect(sweepInputs(document, { ...NO_CATALOGUE, types: new Map([["n", type]]) }).map((one) => one.label)).toEqual(["Steps (first)", "Steps (second)"]);
});
