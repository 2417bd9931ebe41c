/** Dragging items: they move on the screen at once, and in the document when they are let go, as one step of undo. */

import { scopeOf, split } from "../model/document";
import { copyFragment, pasteFragment } from "../model/clipboard";
import { judge } from "../model/connect";
import { insertOnWire, moveItems, setWirePoints } from "../model/edit";
import { wiresFrom, wiresTo } from "../model/graph";
import type { Edit } from "../model/history";
import { activeDocument, newId, useDocuments } from "../state/documents";
import { preferences } from "../state/preferences";
import { type Point, around, grown, holds, isIn, middleOf, nearest, snapped } from "./geometry";
import { couldFit, currentScene } from "./linking";
import { useLocal } from "./local";
import { type NodeItem, type Scene, type WireItem, movedPoints } from "./scene";

interface Drag {
  /** The document that is moved in: another may be shown when the items are let go. */
  readonly document: string;
  readonly scene: Scene;
  readonly ids: ReadonlySet<string>;
  /** Where everything that moves was: the item that the pointer holds, the others dragged with it, and what lies in dragged frames. */
  readonly base: ReadonlyMap<string, Point>;
  /** The node that may be put into a wire: dragged alone and not linked. */
  readonly loose: NodeItem | null;
}

let drag: Drag | null = null;
const REACH = 36;

/** The first of these is the one that the pointer holds: it goes onto the grid, and the others keep their places to it. */
export function startDrag(ids: Iterable<string>, isCopying: boolean): void {
  const scene = currentScene();
  if (scene === null) return;
  const dragged = new Set(ids);
  const base = new Map<string, Point>();
  for (const id of [...dragged, ...[...dragged].flatMap((one) => contentOf(scene, one))]) {
    const item = scene.items.get(id);
    if (item !== undefined) base.set(id, { x: item.x, y: item.y });
  }
  drag = { document: useDocuments.getState().active, scene, ids: dragged, base, loose: looseNode(scene, base) };
  useLocal.setState({ moved: new Map(base), isCopying, into: null });
}

/** The pointer has gone this far from where it was pressed. */
export function dragBy(by: Point): void {
  if (drag === null) return;
  const [held] = drag.base.values();
  if (held === undefined) return;
  const go = preferences().snap ? { x: snapped(held.x + by.x) - held.x, y: snapped(held.y + by.y) - held.y } : by;
  moveTo(new Map([...drag.base].map(([id, at]) => [id, { x: at.x + go.x, y: at.y + go.y }])));
}

function moveTo(moved: ReadonlyMap<string, Point>): void {
  useLocal.setState({ moved, into: wireUnder(moved)?.to ?? null });
}

export function isDragging(): boolean {
  return drag !== null;
}

export function cancelDrag(): void {
  drag = null;
  useLocal.setState({ moved: null, into: null, isCopying: false });
}

export function endDrag(): void {
  const done = drag;
  const { moved, isCopying } = useLocal.getState();
  const wire = moved === null ? null : wireUnder(moved);
  cancelDrag();
  if (done === null || moved === null) return;
  const places = Object.fromEntries([...moved].filter(([id, to]) => !isAt(done.base.get(id), to)).map(([id, { x, y }]) => [id, { x: Math.round(x), y: Math.round(y) }]));
  if (Object.keys(places).length === 0) return;
  if (isCopying) return duplicate(done, places);
  const edits: Edit[] = [moveItems(done.scene.scope, places), ...pointEdits(done.scene, places)];
  if (wire !== null && done.loose !== null) edits.push(...insertion(done.scene, done.loose, wire));
  const title = wire !== null && done.loose !== null ? "canvas.inserted" : "canvas.moved";
  useDocuments.getState().apply(title, (document) => edits.reduce((now, edit) => edit(now), document), null, done.document);
}

/** Move items by arrow keys; steps that follow each other are one step of undo. */
export function nudge(ids: Iterable<string>, by: Point): void {
  const scene = currentScene();
  if (scene === null) return;
  const all = new Set([...ids].flatMap((id) => [id, ...contentOf(scene, id)]));
  const places = Object.fromEntries([...all].flatMap((id) => {
    const item = scene.items.get(id);
    return item === undefined ? [] : [[id, { x: item.x + by.x, y: item.y + by.y }]];
  }));
  const gesture = `nudge:${[...all].sort().join(" ")}`;
  const edits = [moveItems(scene.scope, places), ...pointEdits(scene, places)];
  useDocuments.getState().apply("canvas.moved", (document) => edits.reduce((now, edit) => edit(now), document), gesture);
}

/** The points of wires that go along. */
function pointEdits(scene: Scene, places: { readonly [id: string]: Point }): Edit[] {
  return [...movedPoints(scene, new Map(Object.entries(places)))].map(([to, points]) => setWirePoints(scene.scope, to, points));
}

/** What lies in a frame: everything whose middle is in it, frames if they are wholly in it. */
function contentOf(scene: Scene, id: string): readonly string[] {
  const frame = scene.items.get(id);
  if (frame?.kind !== "frame") return [];
  return [...scene.items.values()]
    .filter((item) => item.id !== id && (item.kind === "frame" ? holds(frame, item) : isIn(frame, middleOf(item))))
    .map((item) => item.id);
}

function isAt(a: Point | undefined, b: Point): boolean {
  return a !== undefined && a.x === b.x && a.y === b.y;
}

function looseNode(scene: Scene, base: ReadonlyMap<string, Point>): NodeItem | null {
  const [id] = base.keys();
  const item = id === undefined || base.size !== 1 ? undefined : scene.items.get(id);
  if (item?.kind !== "node") return null;
  const nodes = scopeOf(scene.document, scene.scope);
  return wiresFrom(nodes, item.id).length === 0 && wiresTo(nodes, item.id).length === 0 ? item : null;
}

/** The wire that the dragged node lies on and could be put into. */
function wireUnder(moved: ReadonlyMap<string, Point>): WireItem | null {
  const loose = drag?.loose;
  const at = loose == null ? undefined : moved.get(loose.id);
  if (drag === null || loose == null || at === undefined) return null;
  const middle = middleOf({ ...loose, ...at });
  let best: { readonly wire: WireItem; readonly distance: number } | null = null;
  for (const wire of drag.scene.wires.values()) {
    if (!isIn(grown(wire.box, REACH), middle)) continue;
    const { distance } = nearest(wire.curves, middle);
    if (distance < REACH && distance < (best?.distance ?? Infinity) && portsFor(drag.scene, loose, wire) !== null) best = { wire, distance };
  }
  return best?.wire ?? null;
}

/** The ports by which a node goes into a wire: an input that takes what comes, an output that its end takes. */
function portsFor(scene: Scene, item: NodeItem, wire: WireItem): { readonly into: readonly string[]; readonly out: readonly string[] } | null {
  const source = { ...split(wire.from), side: "output" as const };
  const target = { ...split(wire.to), side: "input" as const };
  const into = item.ports.inputs.map((port) => port.name).filter((port) => couldFit(scene, source, { node: item.id, port, side: "input" }));
  const out = item.ports.outputs.map((port) => port.name).filter((port) => couldFit(scene, { node: item.id, port, side: "output" }, target));
  return into.length === 0 || out.length === 0 ? null : { into, out };
}

function insertion(scene: Scene, item: NodeItem, wire: WireItem): readonly Edit[] {
  const ports = portsFor(scene, item, wire);
  const into = ports?.into.find((port) => judge(scene.document, scene.scope, scene.catalogue, wire.from, `${item.id}.${port}`).ok);
  const out = ports?.out.find((port) => judge(scene.document, scene.scope, scene.catalogue, `${item.id}.${port}`, wire.to).ok) ?? ports?.out[0];
  return into === undefined || out === undefined ? [] : [insertOnWire(scene.scope, item.id, wire.to, { into, out })];
}

function duplicate(done: Drag, places: { readonly [id: string]: Point }): void {
  const open = activeDocument();
  if (open === undefined || open.id !== done.document) return;
  const fragment = copyFragment(open.history.document, done.scene.scope, Object.keys(places));
  const corner = around(Object.entries(places).map(([, at]) => ({ ...at, width: 0, height: 0 })));
  const pasted = pasteFragment(done.scene.scope, fragment, corner ?? { x: 0, y: 0 }, { withLinks: true });
  useDocuments.getState().apply("canvas.duplicated", pasted.edit, newId());
  useDocuments.getState().select(pasted.ids(open.history.document));
}

