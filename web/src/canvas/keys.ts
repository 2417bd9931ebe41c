/** Keys on the canvas itself. What is a command has its keys there (`commands/`); typing in a field is never ours. */

import { disconnect } from "../model/edit";
import { activeDocument, useDocuments } from "../state/documents";
import { GRID } from "./geometry";
import { currentScene } from "./linking";
import { chooseWires, useLocal } from "./local";
import { nudge } from "./moving";
import { removePoint } from "./Wires";

const ARROWS: { readonly [key: string]: { readonly x: number; readonly y: number } } = {
  ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 }, ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 },
};

export function onCanvasKey(event: React.KeyboardEvent): void {
  const target = event.target as HTMLElement; // React events come from elements
  if (target.closest("input, textarea, select, [contenteditable]") !== null || event.nativeEvent.isComposing) return;
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (handled(event, target)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function handled(event: React.KeyboardEvent, target: HTMLElement): boolean {
  const onItem = target.classList.contains("react-flow__node");
  const id = target.dataset["id"];
  const arrow = ARROWS[event.key];
  if (arrow !== undefined && (onItem || target.dataset["surface"] !== undefined)) return moved(arrow, event.shiftKey ? 4 : 1, onItem ? id : undefined);
  if (event.key === "Enter" && onItem) return edited(target, id);
  if (event.key === " " && onItem && id !== undefined) return toggled(id, event.shiftKey);
  if (event.key === "Delete" || event.key === "Backspace") return removed();
  if (event.key === "Escape") return cleared(target);
  return false;
}

function moved(arrow: { readonly x: number; readonly y: number }, steps: number, focused: string | undefined): boolean {
  const selection = activeDocument()?.selection ?? new Set<string>();
  const ids = focused !== undefined && !selection.has(focused) ? [focused] : [...selection];
  if (ids.length === 0) return false;
  if (focused !== undefined && !selection.has(focused)) useDocuments.getState().select(ids);
  nudge(ids, { x: arrow.x * GRID * steps, y: arrow.y * GRID * steps });
  return true;
}

/** Enter: edit the first value of the node, or go to its first port. */
function edited(target: HTMLElement, id: string | undefined): boolean {
  if (id !== undefined) useDocuments.getState().select([id]);
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
