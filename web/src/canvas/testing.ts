/** A catalogue and documents for tests of the canvas. */

import type { Catalogue, InputPort, NodeType } from "../model/catalogue";
import { type Node, type WorkflowDocument, emptyDocument } from "../model/document";

export function input(name: string, type: string, more: Partial<InputPort> = {}): InputPort {
  return { name, type, optional: false, doc: "", was: [], ...more };
}

function nodeType(id: string, inputs: readonly InputPort[], outputs: readonly (readonly [string, string])[]): NodeType {
  return {
    id, title: id, version: 1, doc: "", category: "", light: false, effect: false, cache: true, place: "host", was: [], pack: null,
    inputs, outputs: outputs.map(([name, type]) => ({ name, type, doc: "" })),
  };
}

const TYPES = [
  nodeType("load", [input("file", "text", { hint: { hint: "file", kinds: ["image"] } })], [["image", "Image"]]),
  nodeType("blur", [input("image", "Image"), input("radius", "float", { default: 2 })], [["image", "Image"]]),
  nodeType("save", [input("image", "Image"), input("name", "text", { default: "image" })], [["file", "text"]]),
  nodeType("encode", [input("image", "Image")], [["latents", "Latents"]]),
];

export const CATALOGUE: Catalogue = {
  version: "1",
  types: new Map(TYPES.map((type) => [type.id, type])),
  plain: new Set(["text", "int", "float", "bool"]),
  fits: {
    Image: { Image: "direct", T: "direct" }, Latents: { Latents: "direct", T: "direct" }, text: { text: "direct", T: "direct" },
    "list[Image]": { Image: "map", "list[Image]": "direct", T: "map" },
  },
};

/** Nodes in a row, 400 apart. */
export function documentOf(nodes: { readonly [id: string]: Node }, view: WorkflowDocument["view"] = {}): WorkflowDocument {
  const places = Object.fromEntries(Object.keys(nodes).map((id, at) => [id, { x: at * 400, y: 0 }]));
  return { ...emptyDocument(), nodes, view: { ...view, nodes: { ...places, ...view.nodes } } };
}
