import { expect, test } from "vitest";

import type { WorkflowDocument } from "./document";
import { type Edit, applied, begin } from "./history";

const START: WorkflowDocument = { $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0", nodes: { a: { type: "number", inputs: { value: 1 } } } };
const valued = (value: number): Edit => (document) => ({ ...document, nodes: { ...document.nodes, a: { type: "number", inputs: { value } } } });

test("edits of one gesture are one step, back to before the first", () => {
  const history = applied(applied(begin(START), "t", valued(2), "g"), "t", valued(3), "g");
  expect(history.past.map((step) => step.document)).toEqual([START]);
});

test("a gesture that comes back to where it began is no step, and what is done after it is one", () => {
  const back = applied(applied(begin(START), "t", valued(2), "g"), "t", valued(1), "g");
  expect(back.past).toEqual([]);
  expect(back.document).toBe(START);
  expect(applied(back, "t", valued(3), "g").past.map((step) => step.document)).toEqual([START]);
});

test("two gestures that undo each other are two steps", () => {
  const history = applied(applied(begin(START), "t", valued(2), "g"), "t", valued(1), "h");
  expect(history.past).toHaveLength(2);
});
