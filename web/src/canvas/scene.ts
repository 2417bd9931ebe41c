/**
 * What the canvas draws: the items and wires of a scope with their places, made anew from every document but keeping the
 * objects of what did not change, so that only what changed is rendered again.
 */

import type { Catalogue, Fit, InputPort, NodeType, OutputPort } from "../model/catalogue";
import { type Frame, type Node, type NodeView, type Note, type Scope, type ScopeId, type WorkflowDocument, isLink, scopeOf, split, targets } from "../model/document";
import { type Measured, type Ports, elementType, measure, roomBelow } from "../model/measure";
import { placesFor } from "../model/placing";
import { portsOf, typeOf } from "../model/ports";
import { nodeViewOf, viewOf } from "../model/view";
import { type Box, type Curve, type Point, boxAround, curvesOf, isIn, laneBetween } from "./geometry";

export interface NodeItem extends Box {
  readonly kind: "node";
  readonly id: string;
  readonly node: Node;
  readonly view: NodeView;
  /** Undefined: not installed. */
  readonly type: NodeType | undefined;
  readonly ports: Ports;
  readonly measured: Measured;
  /** What is wanted free below it, for a picture. */
  readonly below: number;
  /** Ports that are named inputs or outputs of the scope: "<port" or ">port" to its name there. */
  readonly named: { readonly [port: string]: string };
}
export interface FrameItem extends Box {
  readonly kind: "frame";
  readonly id: string;
  readonly frame: Frame;
}
export interface NoteItem extends Box {
  readonly kind: "note";
  readonly id: string;
  readonly note: Note;
}
export type Item = NodeItem | FrameItem | NoteItem;

export interface WireItem {
  /** The port it ends at; that names it. */
  readonly to: string;
  readonly from: string;
  readonly start: Point;
  readonly end: Point;
  readonly points: readonly Point[];
  /** The height along which it goes back; undefined: it does not, or its points lead it. */
  readonly lane: number | undefined;
  readonly curves: readonly Curve[];
  readonly box: Box;
  readonly type: string;
  readonly fit: Fit;
  /** Whether it comes from or goes to a node that is muted. */
  readonly isIdle: boolean;
}

export interface Scene {
  readonly document: WorkflowDocument;
  readonly scope: ScopeId;
  readonly catalogue: Catalogue;
  readonly items: ReadonlyMap<string, Item>;
  readonly wires: ReadonlyMap<string, WireItem>;
}

const NOTHING_NAMED: NodeItem["named"] = {};

/** The scene of a scope. `before`: the last one, whose objects are kept where nothing changed. */
export function sceneOf(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, before?: Scene): Scene {
  const found = scopeOf(document, scope);
  const old = before?.scope === scope && before.catalogue === catalogue ? before : undefined;
  const view = viewOf(found);
  const named = namedPorts(found);
  const places = placesFor(document, scope, catalogue);
  const items = new Map<string, Item>();
  for (const frame of view.frames) {
    const item: FrameItem = { kind: "frame", id: `frame:${frame.id}`, frame, x: frame.x, y: frame.y, width: frame.width, height: frame.height };
    items.set(item.id, kept(old?.items.get(item.id), item, (was) => was.kind === "frame" && was.frame === frame));
  }
  for (const [id, node] of Object.entries(found.nodes)) {
    items.set(id, nodeItem(document, scope, catalogue, id, node, places[id], named[id] ?? NOTHING_NAMED, old?.items.get(id)));
  }
  for (const note of view.notes) {
    const item: NoteItem = { kind: "note", id: `note:${note.id}`, note, x: note.x, y: note.y, width: note.width, height: note.height };
    items.set(item.id, kept(old?.items.get(item.id), item, (was) => was.kind === "note" && was.note === note));
  }
  return { document, scope, catalogue, items, wires: wiresOf(found, catalogue, items, old?.wires) };
}

/** The scene while some items are somewhere else: moved, but not yet in the document. */
export function sceneWith(scene: Scene, moved: ReadonlyMap<string, Point>, before: Scene): Scene {
  const items = new Map(scene.items);
  for (const [id, { x, y }] of moved) {
    const item = items.get(id);
    if (item !== undefined && (item.x !== x || item.y !== y)) items.set(id, { ...item, x, y });
  }
  const found = scopeOf(scene.document, scene.scope);
  return { ...scene, items, wires: wiresOf(found, scene.catalogue, items, before.wires, movedPoints(scene, moved)) };
}

/** Points of wires that go along when items are moved: of a wire whose ends both are, and those that lie in a frame that is. */
export function movedPoints(scene: Scene, moved: ReadonlyMap<string, Point>): ReadonlyMap<string, WirePoints> {
  const found = new Map<string, WirePoints>();
  const wayOf = (id: string): Point | undefined => {
    const [item, to] = [scene.items.get(id), moved.get(id)];
    return item === undefined || to === undefined ? undefined : { x: to.x - item.x, y: to.y - item.y };
  };
  const frames = [...moved.keys()].flatMap((id) => { const item = scene.items.get(id); return item?.kind === "frame" ? [item] : []; });
  for (const { from, to, points } of scene.wires.values()) {
    if (points.length === 0) continue;
    const [start, end] = [wayOf(split(from).node), wayOf(split(to).node)];
    const whole = start !== undefined && end !== undefined && same(start, end) ? start : undefined;
    const next = points.map((point) => {
      const by = whole ?? wayOf(frames.find((frame) => isIn(frame, point))?.id ?? "");
      return [point.x + Math.round(by?.x ?? 0), point.y + Math.round(by?.y ?? 0)] as const;
    });
    if (!samePoints(points, next)) found.set(to, next);
  }
  return found;
}

type WirePoints = readonly (readonly [number, number])[];

/** The box of an item with what it shows below itself. */
export function wholeBox(item: Item): Box {
  return item.kind === "node" && item.below > 0 ? { x: item.x, y: item.y, width: item.width, height: item.height + item.below } : item;
}

/** How far down the next item below a node is; at most `most`. Frames are grounds and stop nothing. */
export function roomUnder(scene: Scene, item: NodeItem, most: number): number {
  const bottom = item.y + item.height;
  let room = most;
  for (const other of scene.items.values()) {
    if (other.kind === "frame" || other.id === item.id || other.y + other.height <= bottom) continue;
    if (other.x < item.x + item.width && other.x + other.width > item.x) room = Math.min(room, other.y - bottom);
  }
  return Math.max(0, room);
}

export function portPoint(item: Item | undefined, port: string, side: "input" | "output"): Point | undefined {
  if (item?.kind !== "node") return undefined;
  const placed = item.measured.ports.find((one) => one.name === port && one.side === side) ?? formerPort(item, port, side);
  if (placed === undefined) return undefined;
  return { x: side === "input" ? item.x : item.x + item.width, y: item.y + placed.y };
}

/** The port that once had this name: documents keep old names until they are changed. */
function formerPort(item: NodeItem, port: string, side: "input" | "output"): Measured["ports"][number] | undefined {
  const now = side === "input" ? item.ports.inputs.find((input) => input.was.includes(port))?.name : undefined;
  return item.measured.ports.find((one) => one.name === now && one.side === "input");
}

function kept<T extends Item>(before: Item | undefined, item: T, same: (before: Item) => boolean): T {
  return before !== undefined && same(before) ? (before as T) : item; // of the same kind: `same` asked
}

function nodeItem(
  document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, id: string, node: Node, place: Point | undefined,
  named: NodeItem["named"], before: Item | undefined,
): NodeItem {
  const view = nodeViewOf(scopeOf(document, scope), id);
  const x = view.x ?? place?.x ?? 0;
  const y = view.y ?? place?.y ?? 0;
  const type = typeOf(document, catalogue, node.type);
  const was = before?.kind === "node" ? before : undefined;
  const isSame = was !== undefined && was.node === node && was.view === view && was.type === type && sameNames(was.named, named) && was.x === x && was.y === y;
  if (isSame && type !== undefined) return was;
  const { inputs, outputs } = portsOf(document, scope, catalogue, id);
  const ports = was !== undefined && samePorts(was.ports, { inputs, outputs }) ? was.ports : { inputs, outputs };
  if (isSame && was.ports === ports) return was;
  const measured = measure(ports, node, view);
  return { kind: "node", id, node, view, type, ports, measured, below: roomBelow(ports, type, view), named, x, y, width: measured.width, height: measured.height };
}

function samePorts(a: Ports, b: Ports): boolean {
  const text = (ports: Ports): string => JSON.stringify([ports.inputs, ports.outputs]);
  return a === b || text(a) === text(b);
}

function sameNames(a: NodeItem["named"], b: NodeItem["named"]): boolean {
  if (a === b) return true;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function namedPorts(scope: Scope): { [node: string]: { [port: string]: string } } {
  const found: { [node: string]: { [port: string]: string } } = {};
  const add = (reference: string, mark: "<" | ">", name: string): void => {
    const { node, port } = split(reference);
    (found[node] ??= {})[mark + port] = name;
  };
  for (const [name, input] of Object.entries(scope.inputs ?? {})) for (const to of targets(input)) add(to, "<", name);
  for (const [name, output] of Object.entries(scope.outputs ?? {})) add(output.from, ">", name);
  return found;
}

function wiresOf(
  scope: Scope, catalogue: Catalogue, items: ReadonlyMap<string, Item>, before: ReadonlyMap<string, WireItem> | undefined,
  moved?: ReadonlyMap<string, WirePoints>,
): ReadonlyMap<string, WireItem> {
  const wires = new Map<string, WireItem>();
  for (const [id, node] of Object.entries(scope.nodes)) {
    for (const port in node.inputs) {
      const value = node.inputs[port];
      if (!isLink(value)) continue;
      const wire = wireItem(scope, catalogue, items, value.link, id, port, before?.get(`${id}.${port}`), moved?.get(`${id}.${port}`));
      if (wire !== undefined) wires.set(wire.to, wire);
    }
  }
  return wires;
}

function wireItem(
  scope: Scope, catalogue: Catalogue, items: ReadonlyMap<string, Item>, from: string, node: string, port: string, was: WireItem | undefined,
  moved: WirePoints | undefined,
): WireItem | undefined {
  const source = split(from);
  const sourceItem = items.get(source.node);
  const item = items.get(node);
  const start = portPoint(sourceItem, source.port, "output");
  const end = portPoint(item, port, "input");
  if (start === undefined || end === undefined || sourceItem?.kind !== "node" || item?.kind !== "node") return undefined;
  const to = `${node}.${port}`;
  const type = sourceItem.ports.outputs.find((output) => output.name === source.port)?.type ?? "T";
  const wanted = item.ports.inputs.find((input) => input.name === port)?.type ?? "T";
  const fit = catalogue.fits[type]?.[wanted] ?? "direct";
  const points = moved ?? viewOf(scope).wires[to]?.points ?? NO_POINTS;
  const lane = end.x < start.x && points.length === 0 ? laneBetween(sourceItem, item) : undefined;
  const isIdle = sourceItem.node.state === "muted" || item.node.state === "muted";
  if (was !== undefined && was.from === from && was.type === type && was.fit === fit && was.isIdle === isIdle && was.lane === lane && same(was.start, start) && same(was.end, end) && samePoints(was.points, points)) return was;
  const through = points.map(([x, y]) => ({ x, y }));
  const curves = curvesOf(start, end, through, lane);
  return { to, from, start, end, points: through, lane, curves, box: boxAround(curves), type, fit, isIdle };
}

const NO_POINTS: readonly (readonly [number, number])[] = [];

function same(a: Point, b: Point): boolean {
  return a.x === b.x && a.y === b.y;
}

function samePoints(a: readonly Point[], b: readonly (readonly [number, number])[]): boolean {
  return a.length === b.length && a.every((point, at) => point.x === b[at]?.[0] && point.y === b[at]?.[1]);
}

/** The kinds of ports by look: what is drawn round, square, as a rhombus or as a leaf (never told by colour alone). */
export function shapeOf(port: InputPort | OutputPort): "one" | "list" | "any" | "mask" {
  if (port.type.startsWith("list[")) return "list";
  if (port.type === "Mask") return "mask";
  return isAny(port.type) ? "any" : "one";
}

/** Whether a type takes every value: a single capital letter (`T`). */
function isAny(type: string): boolean {
  return /^[A-Z]$/.test(elementType(type));
}
