/** For tests: a small catalogue with the server's rule of what fits, documents in few words, documents that refuse to change. */

import type { Catalogue, Fit, Hint, InputPort, NodeType } from "./catalogue";
import { type Json, type Node, type Scope, type WorkflowDocument, emptyDocument } from "./document";

/** An input: "name: type", with "?" behind the type if it is optional, "= value" if it has a default. */
function input(text: string, hint: Hint | null = null): InputPort {
  const [, name = "", type = "", optional, value] = /^(\w+): ([\w[\]]+)(\?)?(?: = (.+))?$/.exec(text) ?? [];
  return { name, type, optional: optional !== undefined, doc: "", was: [], hint, ...(value === undefined ? {} : { default: JSON.parse(value) as Json }) };
}

function type(id: string, inputs: readonly (string | InputPort)[], outputs: readonly string[], facts: Partial<NodeType> = {}): NodeType {
  return {
    id, title: id, version: 1, doc: "", category: "", light: false, effect: false, cache: true, place: "host", was: [], pack: null, ...facts,
    inputs: inputs.map((port) => (typeof port === "string" ? input(port) : port)),
    outputs: outputs.map((text) => ({ name: text.split(": ")[0] ?? "", type: text.split(": ")[1] ?? "", doc: "" })),
  };
}

const TYPES = [
  type("text", ['value: text = ""'], ["value: text"]),
  type("integer", ["value: int = 0"], ["value: int"]),
  type("number", ["value: float = 0"], ["value: float"]),
  type("integers", ['written: text = ""'], ["values: list[int]"]),
  type("load", ["file: text"].map((text) => input(text, { hint: "file", kinds: ["image"] })), ["image: Image"], { was: ["load_old"] }),
  type("blur", ["image: Image", { ...input("radius: float = 2"), was: ["size"] }], ["image: Image"]),
  type("encode", ["image: Image", "seed: int = 0"], ["latents: Latents"]),
  type("decode", ["latents: Latents"], ["image: Image"]),
  type("grid", ["images: list[Image]", "columns: int = 2"], ["image: Image"]),
  type("split", ["image: Image"], ["parts: list[Image]"]),
  type("listed", ["first: T", "second: T?"], ["values: list[T]"]),
  type("either", ["on_true: T", "on_false: T", "value: bool = true"], ["value: T"]),
  type("save", ["image: Image", 'name: text = ""'], ["file: text"], { effect: true }),
];

const NAMES = ["int", "float", "text", "bool", "Image", "Latents", "T"];

/** The server's rule (`graph.types.fits`), written again for tests. */
function fitBetween(source: string, target: string): Fit | undefined {
  const name = (of: string): string => of.replace(/^list\[(.*)\]$/, "$1");
  const same = name(source) === name(target) || name(source) === "T" || name(target) === "T" || (name(source) === "int" && name(target) === "float");
  if (!same) return undefined;
  if (source.startsWith("list[") === target.startsWith("list[")) return "direct";
  return source.startsWith("list[") ? "map" : undefined;
}

export function smallCatalogue(): Catalogue {
  const all = NAMES.flatMap((name) => [name, `list[${name}]`]);
  const fits = Object.fromEntries(all.map((source) => [source, Object.fromEntries(all.flatMap((target) => {
    const fit = fitBetween(source, target);
    return fit === undefined ? [] : [[target, fit]];
  }))]));
  const types = new Map(TYPES.flatMap((one) => [[one.id, one] as const, ...one.was.map((was) => [was, one] as const)]));
  return { version: "1", types, plain: new Set(["int", "float", "text", "bool"]), fits };
}

/** Nodes in few words: {"blur": ["blur", {image: "load.image"}]}; a text with a dot is a link, other values stand for themselves. */
export function nodes(short: { readonly [id: string]: readonly [type: string, inputs?: { readonly [port: string]: Json }] }): Scope["nodes"] {
  const value = (given: Json): Json => (typeof given === "string" && /^\w+\.\w+$/.test(given) ? { link: given } : given);
  return Object.fromEntries(Object.entries(short).map(([id, [kind, inputs = {}]]) => {
    const node: Node = { type: kind, inputs: Object.fromEntries(Object.entries(inputs).map(([port, given]) => [port, value(given)])) };
    return [id, node];
  }));
}

/** A document of these nodes, frozen through and through. */
export function workflow(short: Parameters<typeof nodes>[0], facts: Partial<WorkflowDocument> = {}): WorkflowDocument {
  return frozen({ ...emptyDocument(), nodes: nodes(short), ...facts });
}

/** The value, which now throws when something in it is changed. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}
