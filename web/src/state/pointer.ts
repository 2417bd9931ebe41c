/** Places on the canvas: where what is added by keys goes, and where in the window something in the document is. */

import { type Point, camera } from "./camera";

/** Under the pointer while it is over the canvas, else the middle of what is seen; in the document's units. */
export function pointed(): Point {
  return rounded(camera()?.pointer() ?? middle());
}

/** The middle of what is seen, in the document's units. */
export function middle(): Point {
  return rounded(camera()?.middle() ?? { x: 0, y: 0 });
}

/** A point of the document, in pixels of the window. */
export function toWindow({ x, y }: Point): Point {
  const now = camera();
  if (now === null) return { x: window.innerWidth / 2, y: window.innerHeight / 2 };
  const corner = now.toDocument({ x: 0, y: 0 });
  return { x: (x - corner.x) * now.zoom(), y: (y - corner.y) * now.zoom() };
}

function rounded({ x, y }: Point): Point {
  return { x: Math.round(x), y: Math.round(y) };
}
