/**
 * Edits of what is only looks: places, sizes, titles and colours of nodes, frames, notes, and wires' points.
 *
 * Coordinates are whole numbers. Items are node ids, "frame:ID" and "note:ID".
 */

import { type Frame, type JsonObject, type NodeView, type Note, type Scope, type ScopeId, type View, isLink, isObject } from "./document";
import type { Edit } from "./history";
import { own, withMember, without } from "./members";
import { inScope, valueAt, withWires, withoutPoints } from "./scope";
import { viewOf } from "./view";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Members to set; undefined, "" and false take one out. */
export type Change<T> = { readonly [K in keyof T]?: T[K] | undefined };

export type Item = { readonly kind: "node" | "frame" | "note"; readonly id: string };

/** What an item id names. */
export function itemOf(item: string): Item {
  if (item.startsWith("frame:")) return { kind: "frame", id: item.slice(6) };
  if (item.startsWith("note:")) return { kind: "note", id: item.slice(5) };
  return { kind: "node", id: item };
}

/** Put items at these places. */
export function moveItems(scope: ScopeId, places: { readonly [item: string]: Point }): Edit {
  return inScope(scope, (found) => {
    const named = Object.entries(places).map(([item, place]) => ({ ...itemOf(item), place: { x: whole(place.x), y: whole(place.y) } }));
    const of = (kind: Item["kind"]): ReadonlyMap<string, Point> =>
      new Map(named.filter((one) => one.kind === kind).map((one) => [one.id, one.place]));
    return placed(found, of("node"), of("frame"), of("note"));
  });
}

function placed(scope: Scope, nodes: ReadonlyMap<string, Point>, frames: ReadonlyMap<string, Point>, notes: ReadonlyMap<string, Point>): Scope {
  let changed = withNodeViews(scope, nodes.keys(), (id) => nodes.get(id) as Point); // one of its keys
  if (frames.size > 0) changed = changedBoxes(changed, "frames", frames.keys(), (id) => frames.get(id) as Point); // one of its keys
  if (notes.size > 0) changed = changedBoxes(changed, "notes", notes.keys(), (id) => notes.get(id) as Point); // one of its keys
  return changed;
}

/** Give an item another size, and place if its left or upper edge was moved. A node has no height of its own. */
export function resizeItem(
  scope: ScopeId, item: string, size: { readonly x?: number; readonly y?: number; readonly width?: number; readonly height?: number },
): Edit {
  const { kind, id } = itemOf(item);
  const numbers = Object.fromEntries(Object.entries(size).map(([name, value]) => [name, whole(value)]));
  return inScope(scope, (found) => {
    if (kind === "node") return withNodeViews(found, [id], () => without(numbers, "height"));
    return changedBoxes(found, kind === "frame" ? "frames" : "notes", [id], () => numbers);
  });
}

/** Change title, colour, width or whether nodes are collapsed. */
export function setNodeView(scope: ScopeId, ids: Iterable<string>, part: Change<NodeView>): Edit {
  const list = [...ids];
  return inScope(scope, (found) => withNodeViews(found, list, () => part));
}

export function addFrame(scope: ScopeId, frame: Frame): Edit {
  return inScope(scope, (found) => withBox(found, "frames", frame));
}

export function setFrame(scope: ScopeId, id: string, part: Change<Omit<Frame, "id">>): Edit {
  return inScope(scope, (found) => changedBoxes(found, "frames", [id], () => part));
}

export function addNote(scope: ScopeId, note: Note): Edit {
  return inScope(scope, (found) => withBox(found, "notes", note));
}

export function setNote(scope: ScopeId, id: string, part: Change<Omit<Note, "id">>): Edit {
  return inScope(scope, (found) => changedBoxes(found, "notes", [id], () => part));
}

/** Lead the wire that ends at a port ("node.port") through these points. */
export function setWirePoints(scope: ScopeId, port: string, points: readonly (readonly [number, number])[]): Edit {
  return inScope(scope, (found) => {
    if (points.length === 0 || !isLink(valueAt(found, port))) return withoutPoints(found, port);
    const wire = { points: points.map(([x, y]) => [whole(x), whole(y)] as const) };
    return withWires(found, withMember(viewOf(found).wires, port, wire));
  });
}

/** An id for a frame or note that none of the scope has. */
export function freshBoxId(scope: Scope, kind: "frames" | "notes"): string {
  const taken = new Set(viewOf(scope)[kind].map((box) => box.id));
  let count = 1;
  while (taken.has(`${kind === "frames" ? "frame" : "note"}_${count}`)) count += 1;
  return `${kind === "frames" ? "frame" : "note"}_${count}`;
}

/** The scope without these frames and notes. */
export function withoutBoxes(scope: Scope, frames: ReadonlySet<string>, notes: ReadonlySet<string>): Scope {
  let changed = scope;
  for (const [kind, gone] of [["frames", frames], ["notes", notes]] as const) {
    const before: readonly (Frame | Note)[] = viewOf(scope)[kind];
    const after = before.filter((box) => !gone.has(box.id));
    if (after.length < before.length) changed = withView(changed, { [kind]: after });
  }
  return changed;
}

/** The scope with parts of its view replaced. */
export function withView(scope: Scope, part: Partial<View>): Scope {
  const view = isObject(scope.view as JsonObject | undefined) ? scope.view : {}; // may be anything in a draft
  return { ...scope, view: { ...view, ...part } };
}

/** The scope with members of these nodes' views changed; nodes that are not there are passed over. */
export function withNodeViews(scope: Scope, ids: Iterable<string>, part: (id: string) => Change<NodeView>): Scope {
  const before = viewOf(scope).nodes;
  let after: { [id: string]: NodeView } | undefined;
  for (const id of ids) {
    if (!Object.hasOwn(scope.nodes, id)) continue;
    const old = own((after ?? before) as typeof before, id) ?? {}; // both are the members of one kind
    const changed = merged(old, part(id));
    if (changed !== old) (after ??= { ...before })[id] = changed;
  }
  return after === undefined ? scope : withView(scope, { nodes: after });
}

function withBox(scope: Scope, kind: "frames" | "notes", box: Frame | Note): Scope {
  const boxes: readonly (Frame | Note)[] = viewOf(scope)[kind];
  if (boxes.some((other) => other.id === box.id)) return scope;
  const numbers = { x: whole(box.x), y: whole(box.y), width: whole(box.width), height: whole(box.height) };
  return withView(scope, { [kind]: [...boxes, { ...box, ...numbers }] });
}

function changedBoxes(scope: Scope, kind: "frames" | "notes", ids: Iterable<string>, part: (id: string) => Change<Frame & Note>): Scope {
  const wanted = new Set(ids);
  const before = viewOf(scope)[kind] as readonly (Frame & Note)[]; // `kind` says which
  const after = before.map((box) => (wanted.has(box.id) ? merged(box, part(box.id)) : box));
  return after.every((box, at) => box === before[at]) ? scope : withView(scope, { [kind]: after });
}

/** Texts of a box may be empty; members that are not required go when they say nothing. */
const REQUIRED: ReadonlySet<string> = new Set(["id", "text", "x", "y", "width", "height"]);

function merged<T extends object>(object: T, part: object): T {
  let changed = object;
  for (const [name, given] of Object.entries(part)) {
    const value: unknown = typeof given === "number" ? whole(given) : given;
    const isFrameTitle = name === "title" && "id" in object;
    const says = value !== undefined && ((value !== "" && value !== false) || REQUIRED.has(name) || isFrameTitle);
    if (says ? own(changed as Record<string, unknown>, name) === value : !Object.hasOwn(changed, name)) continue; // asked for by name
    changed = says ? { ...changed, [name]: value } : without(changed, name);
  }
  return changed;
}

function whole(value: number): number {
  return Math.round(value) + 0; // -0 would be another value to `===`-less comparisons, and is written as 0
}
