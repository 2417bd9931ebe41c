/** Lining items up and spreading them evenly. Pure geometry: boxes in, places for `moveItems` out. */

import type { Point } from "./looks";

/** An item with its place and size on the canvas. */
export interface Box extends Point {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export type Alignment = "left" | "center" | "right" | "top" | "middle" | "bottom";
export type Places = { readonly [id: string]: Point };

/** Where each edge or middle is, as a share of the size from the left or upper edge. */
const SHARES: { readonly [how in Alignment]: { readonly along: "x" | "y"; readonly share: number } } = {
  left: { along: "x", share: 0 }, center: { along: "x", share: 0.5 }, right: { along: "x", share: 1 },
  top: { along: "y", share: 0 }, middle: { along: "y", share: 0.5 }, bottom: { along: "y", share: 1 },
};

/** Places with the boxes' edges or middles in one line: that of what they span together. */
export function align(boxes: readonly Box[], how: Alignment): Places {
  const { along, share } = SHARES[how];
  const size = along === "x" ? "width" : "height";
  const low = Math.min(...boxes.map((box) => box[along])), high = Math.max(...boxes.map((box) => box[along] + box[size]));
  const line = low + (high - low) * share;
  return placesOf(boxes, (box) => ({ x: box.x, y: box.y, [along]: Math.round(line - box[size] * share) }));
}

/** Places with equal gaps between the boxes; the outermost stay. */
export function distribute(boxes: readonly Box[], direction: "horizontal" | "vertical"): Places {
  const [along, size] = direction === "horizontal" ? (["x", "width"] as const) : (["y", "height"] as const);
  const sorted = [...boxes].sort((one, other) => one[along] - other[along] || one[along] + one[size] - other[along] - other[size]);
  const first = sorted[0], last = sorted.at(-1);
  if (first === undefined || last === undefined || sorted.length < 3) return placesOf(boxes, ({ x, y }) => ({ x, y }));
  const free = last[along] + last[size] - first[along] - sorted.reduce((sum, box) => sum + box[size], 0);
  const gap = free / (sorted.length - 1);
  const starts = new Map<string, number>();
  let next = first[along];
  for (const box of sorted) {
    starts.set(box.id, box === last ? last[along] : Math.round(next));
    next += box[size] + gap;
  }
  return placesOf(boxes, (box) => ({ x: box.x, y: box.y, [along]: starts.get(box.id) as number })); // made of the same boxes
}

function placesOf(boxes: readonly Box[], place: (box: Box) => Point): Places {
  return Object.fromEntries(boxes.map((box) => [box.id, place(box)]));
}
