/**
 * Every change of a document that a user can make, each as a function from document to document.
 *
 * An edit shares all it does not change and never changes what it was given. One that names what is not there, or that
 * would give an id twice, gives the same document. `from` and `to` are "node.port"; items are node ids, "frame:ID" and
 * "note:ID". Edits of looks are in `looks.ts`, those of named inputs and outputs in `interface.ts`.
 */

import type { Catalogue } from "./catalogue";
import { judge, outputTypeOf } from "./connect";
import {
  type Json, type JsonObject, NAME, type NamedInput, type Node, type NodeState, type Scope, type ScopeId, type WorkflowDocument,
  isLink, split, targets,
} from "./document";
import { wiresFrom, wiresTo } from "./graph";
import type { Edit } from "./history";
import { freshName } from "./interface";
import { type Point, itemOf, withNodeViews, withView, withoutBoxes } from "./looks";
import { isSame, membersOf, namesOf, objectOf, own, withMember, without } from "./members";
import { typeOf } from "./ports";
import { inScope, rewired, withPart, tied, valueAt, withoutPoints } from "./scope";

export { inTurn } from "./scope";
export * from "./interface";
export * from "./looks";

/** An id that no node of the scope has, as near to the wanted one (an id, or a node type) as can be. */
export function freshId(scope: Scope, wanted: string): string {
  return freshName(wanted.replace(/^#/, ""), (name) => Object.hasOwn(scope.nodes, name));
}

export function addNode(scope: ScopeId, id: string, node: Node, at: Point): Edit {
  return inScope(scope, (found) => {
    if (!NAME.test(id) || Object.hasOwn(found.nodes, id)) return found;
    return withNodeViews({ ...found, nodes: { ...found.nodes, [id]: node } }, [id], () => ({ x: at.x, y: at.y }));
  });
}

/**
 * Take out nodes, frames and notes, with the links, named inputs and outputs that led to them.
 *
 * `heal`: what went in to a node is linked to where its outputs went, where the types fit.
 */
export function removeItems(scope: ScopeId, items: Iterable<string>, { heal }: { heal?: Catalogue } = {}): Edit {
  const named = [...items].map(itemOf);
  const of = (kind: string): ReadonlySet<string> => new Set(named.filter((one) => one.kind === kind).map((one) => one.id));
  const nodes = of("node"), frames = of("frame"), notes = of("note");
  return inScope(scope, (found, document) => {
    const gone = new Set([...nodes].filter((id) => Object.hasOwn(found.nodes, id)));
    const bare = withoutBoxes(found, frames, notes);
    if (gone.size === 0) return bare;
    const bridge = heal === undefined ? () => null : bridgeOver(document, scope, found, gone, heal);
    const rewiring = {
      source: (reference: string, to?: string) => (gone.has(split(reference).node) ? bridge(reference, to) : reference),
      target: (reference: string) => (gone.has(split(reference).node) ? null : reference),
    };
    const cut = rewired(bare, rewiring, [...gone].flatMap((id) => fedBy(found, id)));
    return withoutNodes(cut, gone);
  });
}

/** The nodes that a node's outputs are linked to. */
function fedBy(scope: Scope, id: string): string[] {
  return wiresFrom(scope, id).map((wire) => split(wire.to).node);
}

function withoutNodes(scope: Scope, gone: ReadonlySet<string>): Scope {
  const keep = <T>(members: { readonly [id: string]: T }): { readonly [id: string]: T } => {
    const kept: { [id: string]: T } = { ...members };
    for (const id of gone) delete kept[id];
    return kept;
  };
  const changed = { ...scope, nodes: keep(scope.nodes) };
  const views = scope.view?.nodes;
  return typeof views === "object" && views !== null && [...gone].some((id) => Object.hasOwn(views, id))
    ? withView(changed, { nodes: keep(views) })
    : changed;
}

/** For an output of a node that goes: the output before it that may take its place at `to`, or null. */
function bridgeOver(
  document: WorkflowDocument, scopeId: ScopeId, scope: Scope, gone: ReadonlySet<string>, catalogue: Catalogue,
): (reference: string, to?: string) => string | null {
  const before = (id: string): readonly string[] => {
    const signature = typeOf(document, catalogue, scope.nodes[id]?.type ?? "")?.inputs.map((port) => port.name) ?? [];
    const wires = wiresTo(scope, id);
    const rank = (to: string): number => (signature.includes(split(to).port) ? signature.indexOf(split(to).port) : signature.length);
    return [...wires].sort((one, other) => rank(one.to) - rank(other.to)).map((wire) => wire.from);
  };
  const fits = (from: string, to: string | undefined, instead: string): boolean => {
    if (to !== undefined) return judge(document, scopeId, catalogue, from, to).ok;
    const wanted = outputTypeOf(document, scopeId, catalogue, instead), type = outputTypeOf(document, scopeId, catalogue, from);
    return wanted === null || type === null || wanted === type;
  };
  const found = (reference: string, to: string | undefined, seen: ReadonlySet<string>): string | null => {
    const { node } = split(reference);
    for (const from of seen.has(node) ? [] : before(node)) {
      const isGone = gone.has(split(from).node);
      const candidate = isGone ? found(from, to, new Set([...seen, node])) : from;
      if (candidate !== null && (isGone || fits(candidate, to, reference))) return candidate;
    }
    return null;
  };
  return (reference, to) => found(reference, to, new Set());
}

/** Write a value at an input; undefined takes out what is there. */
export function setInput(scope: ScopeId, node: string, port: string, value: Json | undefined): Edit {
  return inScope(scope, (found) => withInput(found, node, port, value));
}

function withInput(scope: Scope, id: string, port: string, value: Json | undefined): Scope {
  const node = own<Node>(scope.nodes, id);
  if (node === undefined) return scope;
  const before = own<Json>(node.inputs, port);
  if (isSame(before, value)) return scope;
  const inputs: JsonObject = value === undefined ? without(node.inputs, port) : withMember(node.inputs, port, value);
  const changed = { ...scope, nodes: { ...scope.nodes, [id]: { ...node, inputs } } };
  return isLink(before) ? withoutPoints(changed, `${id}.${port}`) : changed;
}

/**
 * Link an output to an input, in place of what is there.
 *
 * A named input of the document that went to this port no longer does: it sets values, and a linked port takes none.
 */
export function connect(scope: ScopeId, from: string, to: string): Edit {
  const { node, port } = split(to);
  return inScope(scope, (found) => {
    if (!Object.hasOwn(found.nodes, split(from).node)) return found;
    const linked = withInput(found, node, port, { link: from });
    return scope === "" && linked !== found ? withoutTarget(linked, to) : linked;
  });
}

function withoutTarget(scope: Scope, to: string): Scope {
  const inputs = membersOf<NamedInput>(scope.inputs ?? {});
  if (!inputs.some(([, input]) => targets(input).includes(to))) return scope;
  const kept = inputs.flatMap(([name, input]) => {
    const left = targets(input).filter((target) => target !== to);
    return left.length === 0 ? [] : [[name, left.length === targets(input).length ? input : { ...input, to: tied(left) }] as const];
  });
  return withPart(scope, "inputs", objectOf(kept));
}

/** Take out the link into an input; a value that stands there is left. */
export function disconnect(scope: ScopeId, to: string): Edit {
  const { node, port } = split(to);
  return inScope(scope, (found) => (isLink(valueAt(found, to)) ? withInput(found, node, port, undefined) : found));
}

/** Mute or bypass nodes, or (null) let them run again. */
export function setNodeState(scope: ScopeId, ids: Iterable<string>, state: NodeState | null): Edit {
  const wanted = [...ids];
  return inScope(scope, (found) => {
    const changes = wanted.filter((id) => own<Node>(found.nodes, id) !== undefined && (found.nodes[id]?.state ?? null) !== state);
    if (changes.length === 0) return found;
    const nodes = { ...found.nodes };
    for (const id of changes) {
      const node = nodes[id] as Node; // it is there
      nodes[id] = state === null ? without(node, "state") : { ...node, state };
    }
    return { ...found, nodes };
  });
}

/** Put a node that is there already between an input and what is linked to it. */
export function insertOnWire(scope: ScopeId, node: string, to: string, { into, out }: { into: string; out: string }): Edit {
  return inScope(scope, (found) => {
    const link = valueAt(found, to);
    const entry = own<Node>(found.nodes, node), target = split(to);
    if (!isLink(link) || entry === undefined || target.node === node) return found;
    const consumer = found.nodes[target.node] as Node; // a wire ends there
    const nodes = {
      ...found.nodes,
      [node]: { ...entry, inputs: withMember<Json>(entry.inputs, into, { link: link.link }) },
      [target.node]: { ...consumer, inputs: withMember<Json>(consumer.inputs, target.port, { link: `${node}.${out}` }) },
    };
    return withoutPoints(withoutPoints({ ...found, nodes }, to), `${node}.${into}`);
  });
}

/** Give a node another id, wherever it is named; a taken or impossible id changes nothing. */
export function renameNode(scope: ScopeId, id: string, newId: string): Edit {
  return inScope(scope, (found) => {
    if (!Object.hasOwn(found.nodes, id) || Object.hasOwn(found.nodes, newId) || !NAME.test(newId)) return found;
    const rewrite = (reference: string): string => {
      const { node, port } = split(reference);
      return node === id ? `${newId}.${port}` : reference;
    };
    const changed = rewired(found, { source: rewrite, target: rewrite }, fedBy(found, id));
    const nodes = renamed(changed.nodes, id, newId);
    const views = changed.view?.nodes;
    const isShown = typeof views === "object" && views !== null && Object.hasOwn(views, id);
    return isShown ? withView({ ...changed, nodes }, { nodes: renamed(views, id, newId) }) : { ...changed, nodes };
  });
}

function renamed<T>(members: { readonly [name: string]: T }, name: string, newName: string): { readonly [name: string]: T } {
  return objectOf(namesOf(members).map((each) => [each === name ? newName : each, members[each] as T] as const)); // one of its names
}

/** Name and description of the document; "" takes one out. */
export function setDocumentFacts(facts: { readonly name?: string; readonly description?: string }): Edit {
  return (document) => {
    let changed = document;
    for (const [name, value] of Object.entries(facts)) {
      const before = own(changed as unknown as JsonObject, name) ?? ""; // notes and frames hold JSON only
      if (before === value) continue;
      changed = value === "" ? without(changed, name) : { ...changed, [name]: value };
    }
    return changed;
  };
}
