import type { Point } from "./looks";

/** An item with its place and size on the canvas. */
export interface Box extends Point {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export type Alignment = "left" | "center" | "right" | "top" | "middle" | "bottom";
export type Places = { readonly [id: string]: Point };

/** Places (for `moveItems`) with the boxes' edges or middles in one line. */
export function align(boxes: readonly Box[], how: Alignment): Places {
  throw new Error(`soon: ${boxes.length} ${how}`);
}

/** Places with equal gaps between the boxes; the outermost stay. */
export function distribute(boxes: readonly Box[], along: "horizontal" | "vertical"): Places {
  throw new Error(`soon: ${boxes.length} ${along}`);
}
