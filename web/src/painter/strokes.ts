/** A mask as the list of what was done to it: strokes, clear, invert; with undo and redo. Pure: drawing it is `draw.ts`. */

export interface Dab {
  /** In pixels of the picture. */
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

export type Deed =
  | { readonly kind: "stroke"; readonly tool: Tool; readonly dabs: readonly Dab[] }
  | { readonly kind: "clear" }
  | { readonly kind: "fill" }
  | { readonly kind: "invert" }
  /** A mask that was there before, drawn over all; only `draw.ts` looks into it. */
  | { readonly kind: "given"; readonly mask: object };
export type Tool = "brush" | "eraser";

export interface Painting {
  readonly deeds: readonly Deed[];
  readonly undone: readonly Deed[];
}

export const BLANK: Painting = { deeds: [], undone: [] };
const LEAST_RADIUS = 0.5;
const MOST_RADIUS = 512;
/** Of the brush's size, where the pen barely touches. */
const LIGHTEST = 0.15;

export function did(painting: Painting, deed: Deed): Painting {
  if (deed.kind === "stroke" && deed.dabs.length === 0) return painting;
  const last = painting.deeds.at(-1);
  if (deed.kind === "clear" && (last === undefined || last.kind === "clear")) return painting;
  return { deeds: [...painting.deeds, deed], undone: [] };
}

/** With a mask that was there before, below all that was painted since. */
export function onGiven(painting: Painting, mask: object): Painting {
  return { ...painting, deeds: [{ kind: "given", mask }, ...painting.deeds] };
}

export function undo(painting: Painting): Painting {
  const last = painting.deeds.at(-1);
  return last === undefined ? painting : { deeds: painting.deeds.slice(0, -1), undone: [...painting.undone, last] };
}

export function redo(painting: Painting): Painting {
  const next = painting.undone.at(-1);
  return next === undefined ? painting : { deeds: [...painting.deeds, next], undone: painting.undone.slice(0, -1) };
}

/** The deeds that still show: what came before the last clear or fill does not. */
export function visible(painting: Painting): readonly Deed[] {
  const at = painting.deeds.findLastIndex((deed) => deed.kind === "clear" || deed.kind === "fill");
  return painting.deeds[at]?.kind === "clear" ? painting.deeds.slice(at + 1) : painting.deeds.slice(Math.max(0, at));
}

/** Whether anything was done that may show. */
export function isBlank(painting: Painting): boolean {
  return visible(painting).every((deed) => deed.kind === "stroke" && deed.tool === "eraser");
}

/** The brush larger or smaller, by steps that feel even. */
export function sized(radius: number, steps: number): number {
  const next = radius * 1.2 ** steps;
  return Math.min(MOST_RADIUS, Math.max(LEAST_RADIUS, Math.round(next * 10) / 10));
}

/** How wide a pen's touch is: all of it for a mouse or a finger, by pressure for a pen. */
export function pressed(radius: number, pointerType: string, pressure: number): number {
  if (pointerType !== "pen" || pressure <= 0) return radius;
  return radius * (LIGHTEST + (1 - LIGHTEST) * Math.min(1, pressure));
}
