/** Keys on the canvas itself. What is a command has its keys there (`commands/`); typing in a field is never ours. */

import { disconnect, setWirePoints } from "../model/edit";
import { activeDocument, useDocuments } from "../state/documents";
import { GRID } from "./geometry";
import { currentScene } from "./linking";
import { chooseWires, useLocal } from "./local";
import { cancelDrag, isDragging, nudge } from "./moving";
import { removePoint } from "./Wires";

const ARROWS: { readonly [key: string]: { readonly x: number; readonly y: number } } = {
  ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 }, ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 },
};

export function onCanvasKey(event: React.KeyboardEvent): void {
  const target = event.target as HTMLElement; // React events come from elements
  if (target.closest("input, textarea, select, [contenteditable]") !== null || event.nativeEvent.isComposing) return;
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === " " && isItem(target)) {
    event.preventDefault(); // no scrolling; it goes on to xyflow, where it makes the pointer pan
    if (!event.repeat) isSpaceAlone = true;
    return;
  }
  if (handled(event, target)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Space chooses the focused item when it is let go, unless the pointer was used meanwhile: then it panned. */
let isSpaceAlone = false;

export function onCanvasKeyUp(event: React.KeyboardEvent): void {
  const target = event.target as HTMLElement; // as above
  const id = target.dataset["id"];
  if (event.key === " " && isItem(target) && id !== undefined && isSpaceAlone) toggled(id, event.shiftKey);
  isSpaceAlone = false;
}

/** The pointer was pressed. */
export function spoilSpace(): void {
  isSpaceAlone = false;
}

function isItem(target: HTMLElement): boolean {
  return target.classList.contains("react-flow__node");
}

function handled(event: React.KeyboardEvent, target: HTMLElement): boolean {
  const onItem = isItem(target);
  const id = target.dataset["id"];
  const arrow = ARROWS[event.key];
  if (arrow !== undefined && (onItem || target.dataset["surface"] !== undefined)) return moved(arrow, event.shiftKey ? 4 : 1, onItem ? id : undefined);
  if (event.key === "Enter" && onItem) return edited(target, id);
  if (event.key === "Delete" || event.key === "Backspace") return removed();
  if (event.key === "Escape") return cleared(target);
  return false;
}

function moved(arrow: { readonly x: number; readonly y: number }, steps: number, focused: string | undefined): boolean {
  if (focused === undefined && pointMoved({ x: arrow.x * GRID * steps, y: arrow.y * GRID * steps })) return true;
  const selection = activeDocument()?.selection ?? new Set<string>();
  const ids = focused !== undefined && !selection.has(focused) ? [focused] : [...selection];
  if (ids.length === 0) return false;
  if (focused !== undefined && !selection.has(focused)) useDocuments.getState().select(ids);
  nudge(ids, { x: arrow.x * GRID * steps, y: arrow.y * GRID * steps });
  return true;
}

/** The chosen point of a wire, unless items are selected. */
function pointMoved(by: { readonly x: number; readonly y: number }): boolean {
  const { wires, point } = useLocal.getState();
  const scene = currentScene();
  const wire = point === null || !wires.has(point.to) ? undefined : scene?.wires.get(point.to);
  const at = point === null ? undefined : wire?.points[point.index];
  if (scene === null || scene === undefined || point === null || wire === undefined || at === undefined || (activeDocument()?.selection.size ?? 0) > 0) return false;
  const points = wire.points.map(({ x, y }) => [x, y] as const).with(point.index, [at.x + by.x, at.y + by.y]);
  useDocuments.getState().apply("canvas.rerouted", setWirePoints(scene.scope, wire.to, points), `point:${wire.to}.${point.index}`);
  return true;
}

/** Enter: edit the first value of the node, or go to its first port; a command enters an instance of a subgraph. */
function edited(target: HTMLElement, id: string | undefined): boolean {
  if (id !== undefined) useDocuments.getState().select([id]);
  const item = id === undefined ? undefined : currentScene()?.items.get(id);
  if (item?.kind === "node" && item.node.type.startsWith("#") && item.type !== undefined) return false;
  const widget = target.querySelector<HTMLElement>("[data-widget]");
  if (widget !== null) widget.click();
  else target.querySelector<HTMLElement>("[data-port]")?.focus();
  return true;
}

function toggled(id: string, isMore: boolean): boolean {
  const selection = activeDocument()?.selection ?? new Set<string>();
  const next = new Set(isMore ? selection : []);
  if (selection.has(id) && (isMore || selection.size === 1)) next.delete(id);
  else next.add(id);
  useDocuments.getState().select(next);
  return true;
}

/** Delete: the chosen point of a wire, else the chosen wires. Nodes are deleted by a command. */
function removed(): boolean {
  const { wires, point } = useLocal.getState();
  const scene = currentScene();
  if (scene === null || wires.size === 0) return false;
  const wire = point === null ? undefined : scene.wires.get(point.to);
  if (point !== null && wire !== undefined && wires.has(point.to) && point.index < wire.points.length) {
    removePoint(wire, scene.scope, point.index);
    useLocal.setState({ point: null });
    return true;
  }
  if ((activeDocument()?.selection.size ?? 0) > 0) return false;
  const edits = [...wires].map((to) => disconnect(scene.scope, to));
  useDocuments.getState().apply("canvas.disconnected", (document) => edits.reduce((now, edit) => edit(now), document));
  chooseWires([]);
  return true;
}

function cleared(target: HTMLElement): boolean {
  if (isDragging()) {
    cancelDrag();
    return true;
  }
  const inside = target.closest<HTMLElement>(".react-flow__node");
  if (inside !== null && inside !== target) {
    inside.focus();
    return true;
  }
  const isAnything = (activeDocument()?.selection.size ?? 0) > 0 || useLocal.getState().wires.size > 0;
  if (!isAnything) return false;
  useDocuments.getState().select([]);
  chooseWires([]);
  return true;
}
