import { expect, test } from "vitest";

import type { Catalogue, InputPort, NodeType } from "./catalogue";
import { type WorkflowDocument, emptyDocument } from "./document";
import { addField, fillIn, formFields, possibleFields, spoken } from "./form";

const port = (name: string, more: Partial<InputPort> = {}): InputPort => ({ name, type: "int", optional: false, doc: `About ${name}.`, was: [], ...more });
const sampler: NodeType = {
  id: "sampler", title: "Sampler", version: 1, doc: "", category: "", light: false, effect: false, cache: true, place: "device", was: [], pack: null,
  inputs: [port("steps", { default: 8 }), port("seed", { hint: { hint: "seed" } }), port("latents", { type: "Latents" })], outputs: [],
};
const catalogue: Catalogue = { version: "1", types: new Map([["sampler", sampler]]), plain: new Set(["int", "text"]), fits: {} };
const drawing: WorkflowDocument = {
  ...emptyDocument(),
  nodes: { b: { type: "sampler", inputs: { seed: 3 } }, a: { type: "sampler", inputs: { seed: 4, steps: { link: "b.out" } } } },
  inputs: { seed: { to: ["b.seed", "a.seed"] }, few_steps: { to: "b.steps", label: "How long" }, lost: { to: "gone.port" } },
};

test("fields come in the order in which they are written, with label, help and value of the first port", () => {
  const fields = formFields(drawing, catalogue);
  expect(fields.map(({ name, label, value, port: found }) => [name, label, value, found?.doc])).toEqual([
    ["seed", "Seed", 3, "About seed."],
    ["few_steps", "How long", undefined, "About steps."],
    ["lost", "Lost", undefined, undefined],
  ]);
});

test("what is filled in is written at every port of the field", () => {
  const [seed] = formFields(drawing, catalogue);
  if (seed === undefined) throw new Error("there is a field");
  const filled = fillIn(seed, { random: true })(drawing);
  expect([filled.nodes["a"]?.inputs["seed"], filled.nodes["b"]?.inputs["seed"]]).toEqual([{ random: true }, { random: true }]);
  expect(fillIn(seed, undefined)(drawing).nodes["a"]?.inputs).toEqual({ steps: { link: "b.out" } });
});

test("what can become a field is neither linked nor one already, and can be written", () => {
  const { inputs: _, ...bare } = drawing;
  const possible = possibleFields(bare as WorkflowDocument, catalogue).map(({ node, ports }) => [node, ports.map((one) => one.name)]);
  expect(possible).toEqual([["b", ["steps", "seed"]], ["a", ["seed"]]]);
  expect(possibleFields(drawing, catalogue)).toEqual([]);
});

test("a new field is named after its port, with its node where that is taken", () => {
  const { inputs: _, ...bare } = drawing;
  const twice = addField("a.seed")(addField("b.seed")(bare as WorkflowDocument));
  expect(twice.inputs).toEqual({ seed: { to: "b.seed" }, a_seed: { to: "a.seed" } });
});

test("a name is shown as words", () => {
  expect(spoken("negative_prompt")).toBe("Negative prompt");
});
