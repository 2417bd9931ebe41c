import { expect, test } from "vitest";

import { type WorkflowDocument, emptyDocument } from "./document";
import { movePort } from "./reorder";

const document: WorkflowDocument = { ...emptyDocument(), inputs: { a: { to: "n.a" }, b: { to: "n.b" }, c: { to: "n.c" } } };
const names = (changed: WorkflowDocument): string[] => Object.keys(changed.inputs ?? {});

test("a named input moves up or down by one", () => {
  expect(names(movePort("", "inputs", "c", -1)(document))).toEqual(["a", "c", "b"]);
  expect(names(movePort("", "inputs", "a", 1)(document))).toEqual(["b", "a", "c"]);
});
test("at the end, and without such a name, nothing changes", () => {
  expect(movePort("", "inputs", "a", -1)(document)).toBe(document);
  expect(movePort("", "inputs", "z", 1)(document)).toBe(document);
  expect(movePort("", "outputs", "a", 1)(document)).toBe(document);
});
