import { describe, expect, it } from "vitest";

import { differences } from "./diff";
import { addNode, moveItems, nameInput, nameOutput, removeItems, setDocumentFacts, setInput, setNodeState, setNodeView } from "./edit";
import type { Edit } from "./history";
import { nodes, workflow } from "./testing";

const document = workflow({ load: ["load"], blur: ["blur", { image: "load.image", radius: 3 }] }, { subgraphs: { up: { nodes: nodes({ text: ["text", { value: "a" }] }) } } });

function after(edit: Edit): unknown[] {
  return differences(document, edit(document));
}

describe("the differences of two documents", () => {
  it("are none of a document and itself, whatever its order", () => {
    expect(differences(document, document)).toEqual([]);
    expect(differences(document, { ...document, nodes: Object.fromEntries(Object.entries(document.nodes).reverse()) })).toEqual([]);
  });

  it("tell a changed value and a changed link, with before and after", () => {
    expect(after(setInput("", "blur", "radius", 4))).toEqual([
      { kind: "changed", what: "input", path: "nodes.blur.inputs.radius", scope: "", node: "blur", port: "radius", before: 3, after: 4 },
    ]);
    expect(after(setInput("", "blur", "image", undefined))).toEqual([
      { kind: "removed", what: "input", path: "nodes.blur.inputs.image", scope: "", node: "blur", port: "image", before: { link: "load.image" } },
    ]);
  });

  it("tell added and removed nodes", () => {
    const found = after(addNode("", "more", { type: "text", inputs: {} }, { x: 0, y: 0 }));
    expect(found).toMatchObject([{ kind: "added", what: "node", path: "nodes.more", node: "more", after: { type: "text", inputs: {} } }, { kind: "added", what: "view" }]);
    expect(after(removeItems("", ["load"]))).toMatchObject([{ kind: "removed", what: "node", node: "load" }, { kind: "removed", what: "input", node: "blur", port: "image" }]);
  });

  it("tell types, states, names and facts", () => {
    expect(after((from) => ({ ...from, nodes: { ...from.nodes, load: { type: "text", inputs: {} } } }))).toMatchObject([{ what: "type", before: "load", after: "text" }]);
    expect(after(setNodeState("", ["blur"], "muted"))).toMatchObject([{ kind: "added", what: "state", node: "blur", after: "muted" }]);
    expect(after(nameInput("", "r", { to: "blur.radius" }))).toMatchObject([{ kind: "added", what: "named_input", path: "inputs.r" }]);
    expect(after(nameOutput("", "o", { from: "blur.image" }))).toMatchObject([{ kind: "added", what: "named_output", path: "outputs.o" }]);
    expect(after(setDocumentFacts({ name: "n" }))).toEqual([{ kind: "added", what: "fact", path: "name", scope: "", after: "n" }]);
  });

  it("tell what lies in subgraphs, and looks last", () => {
    const edit: Edit = (from) => setInput("up", "text", "value", "b")(moveItems("", { load: { x: 1, y: 1 } })(from));
    expect(after(edit)).toMatchObject([{ what: "input", path: "subgraphs.up.nodes.text.inputs.value", scope: "up" }, { what: "view", path: "view", scope: "" }]);
    expect(after((from) => ({ ...from, subgraphs: {} }))).toMatchObject([{ kind: "removed", what: "subgraph", path: "subgraphs.up" }]);
    expect(after(setNodeView("", ["load"], { title: "T" }))).toMatchObject([{ what: "view" }]);
  });
});
