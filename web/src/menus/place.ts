/** Where a menu opens that was asked for by keys: at the selection, else at what has the focus, else in the middle of the canvas. */

import { around, boxOf, here } from "../commands/here";
import type { Point } from "../state/palette";
import { middle, toWindow } from "../state/pointer";

export function selectionPoint(): Point {
  const at = here();
  const box = at === null ? null : around(at.items.map((item) => boxOf(at, item)));
  if (box !== null) return inside(toWindow({ x: box.x + Math.min(box.width / 2, 120), y: box.y + 34 }));
  const focused = document.activeElement;
  const canvas = document.getElementById("canvas");
  if (focused !== null && focused !== canvas && canvas?.contains(focused)) {
    const { left, top, width } = focused.getBoundingClientRect();
    return inside({ x: left + width / 2, y: top + 20 });
  }
  return inside(toWindow(middle()));
}

/** The selection may be out of sight. */
function inside({ x, y }: Point): Point {
  const box = document.getElementById("canvas")?.getBoundingClientRect();
  if (box === undefined) return { x, y };
  return { x: Math.max(box.left + 8, Math.min(x, box.right - 200)), y: Math.max(box.top + 8, Math.min(y, box.bottom - 200)) };
}
