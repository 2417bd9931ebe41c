/** Drawing a wire with the pointer: from a port, or by taking a wire's end off. Works with mouse, pen and finger alike. */

import { isLink, scopeOf, split } from "../model/document";
import { camera } from "../state/camera";
import type { PortEnd } from "../state/palette";
import type { Point } from "./geometry";
import { currentScene, endLink, leadLink, linking, startLink, stopLink } from "./linking";

const THRESHOLD_PX = 4;
const EDGE_PX = 36;
const EDGE_SPEED = 10;

/** A press on a port. Drawing begins with the first movement; from a linked input it takes the wire's end off. */
export function pressPort(event: React.PointerEvent, end: PortEnd): void {
  if (event.button !== 0) return;
  const link = linkInto(end);
  if (link === null) followPointer(event.nativeEvent, end, null);
  else followPointer(event.nativeEvent, { ...split(link), side: "output" }, `${end.node}.${end.port}`);
}

/** What is linked to an input; null for none, and for outputs. */
export function linkInto(end: PortEnd): string | null {
  const scene = currentScene();
  if (scene === null || end.side === "output") return null;
  const value = scopeOf(scene.document, scene.scope).nodes[end.node]?.inputs[end.port];
  return isLink(value) ? value.link : null;
}

/** Draw a wire from `from` with the pointer that was pressed, until it is let go. */
export function followPointer(pressed: PointerEvent, from: PortEnd, taken: string | null): void {
  pressed.stopPropagation();
  const { pointerId } = pressed;
  let last: Point = { x: pressed.clientX, y: pressed.clientY };
  let timer = 0;
  const lead = (): void => {
    const shown = camera();
    const scene = currentScene();
    if (shown !== null && scene !== null) leadLink(scene, shown.toDocument(last), shown.zoom());
  };
  const pan = (): void => {
    timer = requestAnimationFrame(pan);
    const bounds = camera()?.bounds();
    if (bounds === undefined || linking() === null) return;
    const by = { x: push(last.x - bounds.left, bounds.right - last.x), y: push(last.y - bounds.top, bounds.bottom - last.y) };
    if (by.x === 0 && by.y === 0) return;
    camera()?.panBy(by);
    lead();
  };
  const move = (event: PointerEvent): void => {
    if (event.pointerId !== pointerId) return;
    const at = { x: event.clientX, y: event.clientY };
    if (linking() === null) {
      if (Math.hypot(at.x - last.x, at.y - last.y) < THRESHOLD_PX) return;
      startLink(from, camera()?.toDocument(at) ?? at, "pointer", taken);
      timer = requestAnimationFrame(pan);
    }
    last = at;
    lead();
  };
  const finish = (event: PointerEvent): void => {
    if (event.pointerId !== pointerId) return;
    release();
    const scene = currentScene();
    if (event.type === "pointerup" && scene !== null) endLink(scene);
    else stopLink();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    release();
    stopLink();
  };
  const release = (): void => {
    cancelAnimationFrame(timer);
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", finish);
    window.removeEventListener("pointercancel", finish);
    window.removeEventListener("keydown", press, true);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", finish);
  window.addEventListener("pointercancel", finish);
  window.addEventListener("keydown", press, true);
}

/** How fast the canvas moves under a pointer near its edge. */
function push(before: number, after: number): number {
  if (before < EDGE_PX) return -EDGE_SPEED;
  return after < EDGE_PX ? EDGE_SPEED : 0;
}
