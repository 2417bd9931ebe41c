/** Where the pointer was last on the canvas: what is added or pasted by keys goes there. */

import { activeDocument } from "./documents";
import type { Point } from "./palette";

let last: Point | null = null;

/** Follow the pointer from now on; the function that ends it. */
export function listenToPointer(): () => void {
  const moved = (event: PointerEvent): void => {
    const canvas = canvasElement();
    last = event.target instanceof Node && canvas?.contains(event.target) ? { x: event.clientX, y: event.clientY } : null;
  };
  window.addEventListener("pointermove", moved, { passive: true, capture: true });
  return () => window.removeEventListener("pointermove", moved, { capture: true });
}

function canvasElement(): HTMLElement | null {
  return document.getElementById("canvas");
}

/** A point of the window, in the units of the document that is shown. */
export function toDocument(point: Point): Point {
  const one = activeDocument();
  const view = one?.viewports[one.path.join("/")] ?? { x: 0, y: 0, zoom: 1 };
  const box = canvasElement()?.getBoundingClientRect();
  return {
    x: Math.round((point.x - (box?.left ?? 0) - view.x) / view.zoom),
    y: Math.round((point.y - (box?.top ?? 0) - view.y) / view.zoom),
  };
}

/** A point of the document, in pixels of the window. */
export function toWindow(point: Point): Point {
  const one = activeDocument();
  const view = one?.viewports[one.path.join("/")] ?? { x: 0, y: 0, zoom: 1 };
  const box = canvasElement()?.getBoundingClientRect();
  return { x: point.x * view.zoom + view.x + (box?.left ?? 0), y: point.y * view.zoom + view.y + (box?.top ?? 0) };
}

/** Under the pointer while it is over the canvas, else the middle of what is seen; in the document's units. */
export function pointed(): Point {
  if (last !== null) return toDocument(last);
  return middle();
}

/** The middle of what is seen, in the document's units. */
export function middle(): Point {
  const box = canvasElement()?.getBoundingClientRect();
  return toDocument({ x: (box?.left ?? 0) + (box?.width ?? 0) / 2, y: (box?.top ?? 0) + (box?.height ?? 0) / 2 });
}
