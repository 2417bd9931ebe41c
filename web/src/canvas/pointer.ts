/** Presses on the ground: a marquee, or from afar, where nodes are a picture, choosing and dragging what is there. */

import { camera } from "../state/camera";
import { activeDocument, useDocuments } from "../state/documents";
import { type Point, between, holds, isIn, meet, nearest } from "./geometry";
import { currentScene } from "./linking";
import { chooseWires, useLocal } from "./local";
import { cancelDrag, dragBy, endDrag, startDrag } from "./moving";
import type { Item, Scene } from "./scene";

const THRESHOLD_PX = 4;

type Press = React.PointerEvent;

export function isMore(event: { readonly shiftKey: boolean; readonly ctrlKey: boolean; readonly metaKey: boolean }): boolean {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}

interface Pointed {
  readonly clientX: number;
  readonly clientY: number;
}

function placeOf(event: Pointed): Point {
  return camera()?.toDocument({ x: event.clientX, y: event.clientY }) ?? { x: 0, y: 0 };
}

/** Where in the document the pointer was pressed last. */
let held: Point = { x: 0, y: 0 };

export function holdAt(event: Pointed): void {
  held = placeOf(event);
}

/** How far the pointer (or the finger) has gone in the document since it was pressed, whatever moved below it. */
export function goneSince(event: Pointed | { readonly touches: ArrayLike<Pointed> }): Point {
  const pointed = "touches" in event ? event.touches[0] : event;
  if (pointed === undefined) return { x: 0, y: 0 };
  const now = placeOf(pointed);
  return { x: now.x - held.x, y: now.y - held.y };
}

/** What lies at a point; what was added last lies on top, frames below all and only by their title. */
export function itemAt(scene: Scene, at: Point): Item | undefined {
  const items = [...scene.items.values()].reverse();
  return items.find((item) => item.kind !== "frame" && isIn(item, at)) ?? items.find((item) => item.kind === "frame" && isIn({ ...item, height: 28 }, at));
}

/** A press on the ground draws a marquee. Without movement it clears the selection, and chooses the wire there, if there is. */
export function pressGround(event: Press, wire?: string): void {
  const start = placeOf(event);
  const before = isMore(event) ? (activeDocument()?.selection ?? new Set<string>()) : new Set<string>();
  follow(event, {
    move: (now) => {
      const box = between(start, placeOf(now));
      useLocal.setState({ marquee: box });
      const scene = currentScene();
      if (scene === null) return;
      const inside = [...scene.items.values()].filter((item) => (item.kind === "frame" ? holds(box, item) : meet(box, item))).map((item) => item.id);
      chosen([...before, ...inside]);
    },
    end: (hasMoved) => {
      useLocal.setState({ marquee: null });
      if (!hasMoved && !isMore(event)) chosen([]);
      chooseWires(hasMoved || wire === undefined ? [] : [wire]);
    },
  });
}

/** A press that moves the view; without movement it chooses what is there from afar, or clears the selection. */
export function tapGround(event: Press, far: Scene | null): void {
  const item = far === null ? undefined : itemAt(far, placeOf(event));
  follow(event, {
    move: () => undefined,
    end: (hasMoved) => {
      if (hasMoved) return;
      chosen(item === undefined ? [] : [item.id]);
      chooseWires([]);
    },
  });
}

/** A press from afar: on an item chooses and drags it, else as on the ground. */
export function pressFar(event: Press): void {
  const scene = currentScene();
  const start = placeOf(event);
  const item = scene === null ? undefined : itemAt(scene, start);
  if (scene === null || item === undefined) {
    return pressGround(event, scene === null ? undefined : wireAt(scene, start, 6 / (camera()?.zoom() ?? 1)));
  }
  event.stopPropagation();
  const selection = activeDocument()?.selection ?? new Set<string>();
  const isChosen = selection.has(item.id);
  if (!isChosen) chosen(isMore(event) ? [...selection, item.id] : [item.id]);
  chooseWires([]);
  follow(event, {
    begin: () => startDrag(activeDocument()?.selection ?? [item.id], event.altKey),
    move: (now) => {
      const at = placeOf(now);
      dragBy({ x: at.x - start.x, y: at.y - start.y });
    },
    end: (hasMoved, isCancelled) => {
      if (isCancelled) cancelDrag();
      else if (hasMoved) endDrag();
      else if (isChosen) chosen(isMore(event) ? [...selection].filter((id) => id !== item.id) : [item.id]);
    },
  });
}

function wireAt(scene: Scene, at: Point, reach: number): string | undefined {
  for (const wire of scene.wires.values()) {
    if (isIn(wire.box, at, reach) && nearest(wire.curves, at, 60).distance < reach) return wire.to;
  }
  return undefined;
}

function chosen(ids: readonly string[]): void {
  const before = activeDocument()?.selection;
  const next = new Set(ids);
  if (before?.size === next.size && [...next].every((id) => before.has(id))) return;
  useDocuments.getState().select(next);
}

interface Following {
  begin?(): void;
  move(event: PointerEvent): void;
  end(hasMoved: boolean, isCancelled: boolean): void;
}

function follow(pressed: Press, { begin, move, end }: Following): void {
  const { clientX, clientY, pointerId } = pressed;
  let hasMoved = false;
  const onMove = (event: PointerEvent): void => {
    if (event.pointerId !== pointerId) return;
    if (!hasMoved && Math.hypot(event.clientX - clientX, event.clientY - clientY) < THRESHOLD_PX) return;
    if (!hasMoved) begin?.();
    hasMoved = true;
    move(event);
  };
  const release = (isCancelled: boolean): void => {
    window.removeEventListener("pointermove", onMove);
    window.removeEventListener("pointerup", onEnd);
    window.removeEventListener("pointercancel", onEnd);
    window.removeEventListener("keydown", onKey, true);
    end(hasMoved, isCancelled);
  };
  const onEnd = (event: PointerEvent): void => {
    if (event.pointerId === pointerId) release(event.type === "pointercancel");
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    release(true);
  };
  window.addEventListener("pointermove", onMove);
  window.addEventListener("pointerup", onEnd);
  window.addEventListener("pointercancel", onEnd);
  window.addEventListener("keydown", onKey, true);
}
