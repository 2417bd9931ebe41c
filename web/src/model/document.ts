/**
 * The workflow document as the page holds it: the JSON value itself, never changed in place.
 *
 * Edits (see `edit.ts`) give a new document that shares what did not change, so that undo keeps whole documents and
 * "has it changed?" is `===`. Writing is canonical (`canonical.ts`); reading is strict (`read.ts`).
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** The output of another node: "node.port". */
export interface Link {
  readonly link: string;
}
/** A file by its content. */
export interface FileValue {
  readonly file?: string;
  readonly sha256: string;
}
/** A seed that is drawn anew for each run. */
export interface RandomValue {
  readonly random: true;
}

export type NodeState = "muted" | "bypassed";

/** Fields of others: `x-...`, and those of newer minor versions. They are kept. */
interface Extra {
  readonly [name: `x-${string}`]: Json;
}

export interface Node extends Extra {
  /** `name`, `pack/name`, or `#subgraph`. */
  readonly type: string;
  readonly type_version?: number;
  readonly inputs: JsonObject;
  readonly state?: NodeState;
}

export interface NamedInput extends Extra {
  /** "node.port", or several. */
  readonly to: string | readonly string[];
  readonly label?: string;
}

export interface NamedOutput extends Extra {
  readonly from: string;
  readonly label?: string;
}

/** What is only looks. Every member is optional in a file; whole numbers; colours are names of `COLOURS`. */
export interface NodeView {
  readonly x?: number;
  readonly y?: number;
  readonly width?: number;
  readonly title?: string;
  readonly color?: string;
  readonly collapsed?: boolean;
}
export interface Frame {
  readonly id: string;
  readonly title: string;
  readonly color?: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export interface Note {
  readonly id: string;
  readonly text: string;
  readonly color?: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export interface View {
  readonly nodes?: { readonly [id: string]: NodeView };
  readonly frames?: readonly Frame[];
  readonly notes?: readonly Note[];
  /** By the port a wire ends at ("node.port"): the points it is led through (reroutes). */
  readonly wires?: { readonly [port: string]: { readonly points: readonly (readonly [number, number])[] } };
}

/** Nodes with an interface: the document itself, or one of its subgraphs. */
export interface Scope extends Extra {
  readonly nodes: { readonly [id: string]: Node };
  readonly inputs?: { readonly [name: string]: NamedInput };
  readonly outputs?: { readonly [name: string]: NamedOutput };
  readonly view?: View;
}

export type Subgraph = Scope;

export interface WorkflowDocument extends Scope {
  readonly $schema: string;
  readonly format: "latentgraph/workflow";
  readonly version: string;
  readonly name?: string;
  readonly description?: string;
  readonly subgraphs?: { readonly [id: string]: Subgraph };
  readonly requires?: { readonly models?: readonly Json[]; readonly packs?: readonly Json[] };
}

/** Where an edit takes place: "" for the document's own nodes, else the id of a subgraph. */
export type ScopeId = string;

/** What ids of nodes and subgraphs, and names of inputs and outputs, look like. */
export const NAME = /^[a-z][a-z0-9_]{0,63}$/;

export const COLOURS = ["grey", "red", "orange", "yellow", "green", "teal", "blue", "purple", "pink"] as const;

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A part of a document as the JSON it is: the compiler does not see that of an interface. */
export function jsonOf(part: object | undefined): Json | undefined {
  return part as Json | undefined;
}

export function isLink(value: Json | undefined): value is Link & JsonObject {
  return isObject(value) && typeof value["link"] === "string";
}

export function isFile(value: Json | undefined): value is FileValue & JsonObject {
  return isObject(value) && typeof value["sha256"] === "string";
}

export function isRandom(value: Json | undefined): value is RandomValue & JsonObject {
  return isObject(value) && value["random"] === true;
}

/** The two halves of "node.port". */
export function split(reference: string): { node: string; port: string } {
  const dot = reference.indexOf(".");
  return { node: reference.slice(0, dot), port: reference.slice(dot + 1) };
}

/** The ports a named input goes to. */
export function targets(input: NamedInput): readonly string[] {
  return typeof input.to === "string" ? [input.to] : input.to;
}

export function scopeOf(document: WorkflowDocument, scope: ScopeId): Scope {
  const found = scope === "" ? document : document.subgraphs?.[scope];
  if (found === undefined) throw new Error(`there is no subgraph ${scope}`);
  return found;
}

/** The same document with another scope in place of the one named. */
export function withScope(document: WorkflowDocument, scope: ScopeId, changed: Scope): WorkflowDocument {
  if (scope === "") return { ...document, ...changed };
  return { ...document, subgraphs: { ...document.subgraphs, [scope]: changed } };
}

export function emptyDocument(name = ""): WorkflowDocument {
  return {
    $schema: "latentgraph/workflow-1.json",
    format: "latentgraph/workflow",
    version: "1.0",
    ...(name === "" ? {} : { name }),
    nodes: {},
  };
}
