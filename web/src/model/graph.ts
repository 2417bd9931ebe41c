/**
 * The nodes of one scope as a graph: links, what lies before and after.
 *
 * Knows ids and links, no types. What is found is kept for as long as the scope's `nodes` stay the same object, which
 * moving and colouring do not change.
 */

import { type Node, type Scope, isLink, split } from "./document";
import { membersOf, own } from "./members";

/** From an output to an input, both "node.port". */
export interface Wire {
  readonly from: string;
  readonly to: string;
}

interface Index {
  readonly wires: readonly Wire[];
  /** By node: the wires that begin and that end at it. */
  readonly leaving: ReadonlyMap<string, readonly Wire[]>;
  readonly arriving: ReadonlyMap<string, readonly Wire[]>;
}

const indices = new WeakMap<Scope["nodes"], Index>();

function indexOf(scope: Scope): Index {
  const kept = indices.get(scope.nodes);
  if (kept !== undefined) return kept;
  const wires: Wire[] = [];
  const leaving = new Map<string, Wire[]>(), arriving = new Map<string, Wire[]>();
  for (const [id, node] of membersOf(scope.nodes)) {
    for (const [port, value] of membersOf(node.inputs)) {
      if (!isLink(value)) continue;
      const wire = { from: value.link, to: `${id}.${port}` };
      wires.push(wire);
      put(leaving, split(wire.from).node, wire);
      put(arriving, id, wire);
    }
  }
  const index = { wires, leaving, arriving };
  indices.set(scope.nodes, index);
  return index;
}

function put(map: Map<string, Wire[]>, id: string, wire: Wire): void {
  const list = map.get(id);
  if (list === undefined) map.set(id, [wire]);
  else list.push(wire);
}

/** Every link of the scope, those to nodes that are not there too. */
export function linksOf(scope: Scope): readonly Wire[] {
  return indexOf(scope).wires;
}

/** The links that begin at a node. */
export function wiresFrom(scope: Scope, id: string): readonly Wire[] {
  return indexOf(scope).leaving.get(id) ?? [];
}

/** The links that end at a node. */
export function wiresTo(scope: Scope, id: string): readonly Wire[] {
  return indexOf(scope).arriving.get(id) ?? [];
}

/** All nodes that these depend on, near or far; themselves only if they lie on a cycle or behind one another. */
export function ancestors(scope: Scope, ids: Iterable<string>): Set<string> {
  return reached(scope, ids, (id) => wiresTo(scope, id).map((wire) => split(wire.from).node));
}

/** All nodes that depend on these, near or far. */
export function descendants(scope: Scope, ids: Iterable<string>): Set<string> {
  return reached(scope, ids, (id) => wiresFrom(scope, id).map((wire) => split(wire.to).node));
}

function reached(scope: Scope, ids: Iterable<string>, next: (id: string) => readonly string[]): Set<string> {
  const found = new Set<string>();
  const waiting = [...ids];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const other of next(id)) {
      if (found.has(other) || own<Node>(scope.nodes, other) === undefined) continue;
      found.add(other);
      waiting.push(other);
    }
  }
  return found;
}
