/**
 * The ground of all edits: changing one scope of a document, and rewriting the references in it.
 *
 * When an input or output of a subgraph goes away, so does what instances hold for it; that is seen to here.
 */

import {
  type Json, type JsonObject, type NamedInput, type NamedOutput, type Node, type Scope, type ScopeId, type WorkflowDocument,
  isLink, split, targets,
} from "./document";
import type { Edit } from "./history";
import { membersOf, namesOf, objectOf, own, withMember, without } from "./members";

const REFERENCE = /^[a-z][a-z0-9_]{0,63}\.[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Whether a text reads "node.port" as named inputs and outputs write it. */
export function isReference(text: string): boolean {
  return REFERENCE.test(text);
}

/** The scope, or undefined if there is none of this id. */
export function scopeIn(document: WorkflowDocument, id: ScopeId): Scope | undefined {
  return id === "" ? document : own(document.subgraphs, id);
}

/** The document with this scope in place of its former self; members may be missing from it that were there before. */
export function replaced(document: WorkflowDocument, id: ScopeId, changed: Scope): WorkflowDocument {
  if (id === "") return changed as WorkflowDocument; // the document itself was changed
  return { ...document, subgraphs: withMember(document.subgraphs ?? {}, id, changed) };
}

/** An edit of one scope. One that names what is not there, or that changes nothing, gives the same document. */
export function inScope(id: ScopeId, change: (scope: Scope, document: WorkflowDocument) => Scope): Edit {
  return (document) => {
    const scope = scopeIn(document, id);
    if (scope === undefined) return document;
    const changed = change(scope, document);
    return changed === scope ? document : settled(replaced(document, id, changed), id, scope, changed);
  };
}

/** Several edits as one. */
export function inTurn(...edits: readonly Edit[]): Edit {
  return (document) => edits.reduce((current, edit) => edit(current), document);
}

/** The document after a subgraph changed: what instances hold for inputs and outputs that it lost is taken out. */
function settled(document: WorkflowDocument, id: ScopeId, before: Scope, after: Scope): WorkflowDocument {
  if (id === "" || (before.inputs === after.inputs && before.outputs === after.outputs)) return document;
  const lost = (was: object = {}, is: object = {}): Set<string> => new Set(Object.keys(was).filter((name) => !Object.hasOwn(is, name)));
  const inputs = lost(before.inputs, after.inputs), outputs = lost(before.outputs, after.outputs);
  if (inputs.size === 0 && outputs.size === 0) return document;
  return aroundInstances(document, id, (scope, instances) =>
    rewired(scope, {
      source: (reference) => (isOf(reference, instances, outputs) ? null : reference),
      target: (reference) => (isOf(reference, instances, inputs) ? null : reference),
    }),
  );
}

function isOf(reference: string, nodes: ReadonlySet<string>, ports: ReadonlySet<string>): boolean {
  const { node, port } = split(reference);
  return ports.has(port) && nodes.has(node);
}

/** The document with every scope changed that holds instances of a subgraph. */
export function aroundInstances(
  document: WorkflowDocument, subgraph: string, change: (scope: Scope, instances: ReadonlySet<string>) => Scope,
): WorkflowDocument {
  const type = `#${subgraph}`;
  const edits = ["", ...Object.keys(document.subgraphs ?? {})].map((id) =>
    inScope(id, (scope) => {
      const instances = new Set(Object.keys(scope.nodes).filter((name) => scope.nodes[name]?.type === type));
      return instances.size === 0 ? scope : change(scope, instances);
    }),
  );
  return inTurn(...edits)(document);
}

/** What becomes of references; null takes out what holds them. */
export interface Rewiring {
  /** Of an output, as a link into `to` or (no `to`) as a named output. */
  source?(reference: string, to?: string): string | null;
  /** Of an input. The node's id in it does not move the node: see `renameNode`. */
  target?(reference: string): string | null;
}

/**
 * The scope with its references rewritten: links, values of inputs, named inputs and outputs, wires' points.
 *
 * `touched`: the nodes whose inputs can be concerned, where that is known (of thousands it is a few).
 */
export function rewired(scope: Scope, rewiring: Rewiring, touched: Iterable<string> = Object.keys(scope.nodes)): Scope {
  const source = rewiring.source ?? ((reference: string) => reference);
  const target = rewiring.target ?? ((reference: string) => reference);
  let changed = scope;
  const nodes = rewiredNodes(scope.nodes, touched, source, target);
  if (nodes !== scope.nodes) changed = { ...changed, nodes };
  changed = withPart(changed, "inputs", changedMembers<NamedInput>(scope.inputs, (input) => retargeted(input, target)));
  changed = withPart(changed, "outputs", changedMembers<NamedOutput>(scope.outputs, (output) => {
    const from = source(output.from);
    return from === null ? undefined : from === output.from ? output : { ...output, from };
  }));
  return wiresKept(changed, (port) => {
    const now = target(port);
    return now === null ? null : isLinked(changed, scope, port, now) ? now : null;
  });
}

/** A wire's points are kept while it still ends at its port and comes from where it came from. */
function isLinked(changed: Scope, scope: Scope, port: string, now: string): boolean {
  const before = valueAt(scope, port), after = valueAt(changed, `${split(port).node}.${split(now).port}`);
  return before === undefined || (isLink(before) && isLink(after));
}

/** The value of an input; undefined for none. */
export function valueAt(scope: Scope, reference: string): Json | undefined {
  const { node, port } = split(reference);
  return own<Json>(own<Node>(scope.nodes, node)?.inputs, port);
}

function rewiredNodes(
  nodes: Scope["nodes"], touched: Iterable<string>, source: NonNullable<Rewiring["source"]>, target: NonNullable<Rewiring["target"]>,
): Scope["nodes"] {
  let changed: { [id: string]: Node } | undefined;
  for (const id of touched) {
    const node = (changed ?? nodes)[id];
    if (node === undefined) continue;
    const inputs = rewiredInputs(id, node.inputs, source, target);
    if (inputs !== node.inputs) (changed ??= { ...nodes })[id] = { ...node, inputs };
  }
  return changed ?? nodes;
}

function rewiredInputs(id: string, inputs: JsonObject, source: NonNullable<Rewiring["source"]>, target: NonNullable<Rewiring["target"]>): JsonObject {
  /** What becomes of an input: its name and value, or null. */
  const after = (name: string): readonly [string, Json] | null => {
    const to = `${id}.${name}`, value = inputs[name] as Json, now = target(to); // one of its names
    if (now === null) return null;
    const called = now === to ? name : split(now).port;
    if (!isLink(value)) return [called, value];
    const link = source(value.link, to);
    return link === null ? null : [called, link === value.link ? value : { ...value, link }];
  };
  const isKept = (name: string): boolean => {
    const kept = after(name);
    return kept !== null && kept[0] === name && kept[1] === inputs[name];
  };
  if (Object.keys(inputs).every(isKept)) return inputs;
  return objectOf(namesOf(inputs).map(after).filter((member) => member !== null));
}

/** The members with each value changed (undefined takes it out); the same object if none is. */
export function changedMembers<T>(
  object: { readonly [name: string]: T } | undefined, change: (value: T, name: string) => T | undefined,
): { readonly [name: string]: T } | undefined {
  if (object === undefined) return undefined;
  let isChanged = false;
  const kept: [string, T][] = [];
  for (const name of namesOf(object)) {
    const value = object[name] as T; // one of its names
    const now = change(value, name);
    if (now !== value) isChanged = true;
    if (now !== undefined) kept.push([name, now]);
  }
  return isChanged ? objectOf(kept) : object;
}

function retargeted(input: NamedInput, target: (reference: string) => string | null): NamedInput | undefined {
  const before = targets(input);
  const after = before.map(target).filter((reference) => reference !== null);
  if (after.length === before.length && after.every((reference, at) => reference === before[at])) return input;
  return after.length === 0 ? undefined : { ...input, to: tied(after) };
}

/** `to` of a named input as it is written: one target, or a list. */
export function tied(references: readonly string[]): string | readonly string[] {
  return references.length === 1 ? (references[0] as string) : references; // there is one
}

type Interface = { inputs: { readonly [name: string]: NamedInput }; outputs: { readonly [name: string]: NamedOutput } };

/** The scope with these named inputs or outputs; without the member if there are none left. */
export function withPart<K extends "inputs" | "outputs">(scope: Scope, part: K, members: Interface[K] | undefined): Scope {
  if (members === scope[part]) return scope;
  return members === undefined || Object.keys(members).length === 0 ? without(scope, part) : { ...scope, [part]: members };
}

/** The scope with the points of wires under new ports (null: gone). */
function wiresKept(scope: Scope, rename: (port: string) => string | null): Scope {
  const wires = scope.view?.wires;
  if (typeof wires !== "object" || wires === null) return scope;
  const before = membersOf(wires);
  const after = before.flatMap(([port, wire]) => {
    const now = rename(port);
    return now === null ? [] : [[now, wire] as const];
  });
  if (after.length === before.length && after.every(([port], at) => port === before[at]?.[0])) return scope;
  return withWires(scope, objectOf(after));
}

export function withWires(scope: Scope, wires: NonNullable<NonNullable<Scope["view"]>["wires"]>): Scope {
  const view = scope.view ?? {};
  return { ...scope, view: Object.keys(wires).length === 0 ? without(view, "wires") : { ...view, wires } };
}

/** The scope without the points of the wire that ends at this port. */
export function withoutPoints(scope: Scope, port: string): Scope {
  const wires = scope.view?.wires;
  if (typeof wires !== "object" || wires === null || !Object.hasOwn(wires, port)) return scope;
  return withWires(scope, without(wires, port));
}
