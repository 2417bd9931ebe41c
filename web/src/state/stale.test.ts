import { expect, it } from "vitest";

import type { WorkflowDocument } from "../model/document";
import { withValues } from "../model/values";
import { changedInputs, keyedText, stalePaths } from "./stale";

const base: WorkflowDocument = {
  $schema: "s", format: "latentgraph/workflow", version: "1.0",
  nodes: {
    text: { type: "text", inputs: { value: "a" } },
    size: { type: "size", inputs: { width: 64 } },
    draw: { type: "draw", inputs: { text: { link: "text.value" }, seed: 7 } },
    save: { type: "save", inputs: { image: { link: "draw.image" } } },
  },
};

const edited = (node: string, port: string, value: string | number): WorkflowDocument => withValues(base, { [`${node}.${port}`]: value });

it("marks an edited node and all below it, and nothing else", () => {
  expect([...stalePaths(edited("draw", "seed", 8), base)]).toEqual(["draw", "save"]);
  expect([...stalePaths(edited("text", "value", "b"), base)].sort()).toEqual(["draw", "save", "text"]);
});

it("does not take moves, titles and labels for changes", () => {
  const moved: WorkflowDocument = {
    ...base, inputs: { seed: { to: "draw.seed", label: "Seed" } }, view: { nodes: { draw: { x: 5, title: "mine" } } },
  };
  const other: WorkflowDocument = { ...base, inputs: { seed: { to: "draw.seed", label: "The seed" } } };
  expect(keyedText(moved)).toBe(keyedText(other));
  expect(stalePaths(moved, other).size).toBe(0);
});

it("takes the same values from another copy for the same", () => {
  expect(stalePaths(structuredClone(base), base).size).toBe(0);
});

it("marks what is below a wire that was led elsewhere", () => {
  const rewired: WorkflowDocument = { ...base, nodes: { ...base.nodes, save: { type: "save", inputs: { image: { link: "size.image" } } } } };
  expect([...stalePaths(rewired, base)]).toEqual(["save"]);
});

it("goes through subgraphs: only what depends on the changed input is stale", () => {
  const inside = {
    nodes: {
      left: { type: "n", inputs: { value: 1 } },
      right: { type: "n", inputs: { value: 1 } },
      join: { type: "n", inputs: { a: { link: "left.value" } } },
    },
    inputs: { left: { to: "left.value" }, right: { to: "right.value" } },
    outputs: { joined: { from: "join.value" }, right: { from: "right.value" } },
  };
  const document: WorkflowDocument = {
    ...base, subgraphs: { pair: inside },
    nodes: {
      a: { type: "n", inputs: { value: 1 } },
      pair: { type: "#pair", inputs: { left: { link: "a.value" }, right: 4 } },
      uses_joined: { type: "n", inputs: { value: { link: "pair.joined" } } },
      uses_right: { type: "n", inputs: { value: { link: "pair.right" } } },
    },
  };
  expect([...stalePaths(withValues(document, { "a.value": 2 }), document)].sort()).toEqual(["a", "pair", "pair/join", "pair/left", "uses_joined"]);
});

it("ends for a workflow that goes in a circle", () => {
  const circle = (value: number): WorkflowDocument => ({
    ...base, nodes: { a: { type: "n", inputs: { in: { link: "b.out" }, value } }, b: { type: "n", inputs: { in: { link: "a.out" } } } },
  });
  expect(stalePaths(circle(2), circle(1)).has("a")).toBe(true);
});

it("names the inputs that changed", () => {
  expect(changedInputs({ type: "n", inputs: { a: 1, b: 2, c: 3 } }, { type: "n", inputs: { a: 1, b: 5 } })).toEqual(["b", "c"]);
});
