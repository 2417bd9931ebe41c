/** For tests of commands: node types, and a document that is open and shown. */

import type { Catalogue, InputPort, NodeType } from "../model/catalogue";
import { type Node, type Scope, type View, type WorkflowDocument, emptyDocument } from "../model/document";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";
import { runCommand } from "./registry";

function input(name: string, type: string, more: Partial<InputPort> = {}): InputPort {
  return { name, type, optional: false, doc: "", was: [], ...more };
}

function nodeType(id: string, inputs: readonly InputPort[], outputs: readonly [string, string][], more: Partial<NodeType> = {}): NodeType {
  return {
    id, title: id, version: 1, doc: `Does ${id}.`, category: "tests", light: false, effect: false, cache: true, place: "cpu", was: [], pack: null, inputs,
    outputs: outputs.map(([name, type]) => ({ name, type, doc: "" })), ...more,
  };
}

/** make -> Image; blur: Image -> Image; count: int; show: Image, label. */
const TYPES = [
  nodeType("make", [input("seed", "int", { hint: { hint: "seed" } }), input("size", "int", { default: 64 })], [["image", "Image"]]),
  nodeType("blur", [input("image", "Image"), input("radius", "float", { default: 1 })], [["image", "Image"]]),
  nodeType("count", [input("image", "Image")], [["number", "int"]]),
  nodeType("show", [input("image", "Image"), input("label", "text", { default: "" })], [], { effect: true }),
];

export const CATALOGUE: Catalogue = {
  version: "1",
  types: new Map(TYPES.map((type) => [type.id, type])),
  plain: new Set(["int", "float", "text", "bool"]),
  fits: { Image: { Image: "direct", T: "direct" }, int: { int: "direct", float: "direct", T: "direct" }, "list[Image]": { Image: "map" } },
};

export function node(type: string, inputs: Node["inputs"] = {}): Node {
  return { type, inputs };
}
export const link = (reference: string) => ({ link: reference });

/** a -> b -> c, with places 300 apart. */
export const CHAIN: WorkflowDocument = {
  ...emptyDocument(),
  nodes: { a: node("make"), b: node("blur", { image: link("a.image") }), c: node("show", { image: link("b.image") }) },
  view: { nodes: { a: { x: 0, y: 0 }, b: { x: 300, y: 40 }, c: { x: 600, y: 90 } } },
};

/** Open it as the only document, with these items selected. */
export function openOnly(document: WorkflowDocument, selection: readonly string[] = []): void {
  useCatalogue.setState({ catalogue: CATALOGUE });
  useDocuments.setState({ open: [], active: "" });
  useDocuments.getState().add(document);
  useDocuments.getState().select(selection);
}

/** Run the command on the document with the selection; the document after it. */
export async function after(command: string, document: WorkflowDocument, selection: readonly string[] = []): Promise<WorkflowDocument> {
  openOnly(document, selection);
  runCommand(command);
  await new Promise((resolve) => setTimeout(resolve));
  return shown();
}

export function shown(): WorkflowDocument {
  const one = activeDocument();
  if (one === undefined) throw new Error("no document is open");
  return one.history.document;
}

export function shownScope(): Scope {
  const id = scopeAt(shown(), activeDocument()?.path ?? []);
  return id === "" ? shown() : (shown().subgraphs?.[id] ?? shown());
}

export function selected(): readonly string[] {
  return [...(activeDocument()?.selection ?? [])];
}

/** How many steps can be undone. */
export function steps(): number {
  return activeDocument()?.history.past.length ?? 0;
}

export function view(document: WorkflowDocument): View {
  return document.view ?? {};
}
