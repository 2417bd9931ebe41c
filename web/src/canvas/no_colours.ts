/**
 * Stands for d3-color in what is built (`vite.config.ts`). d3-zoom, under xyflow, brings d3-transition, which animates colours
 * with it; only the camera is animated here, and that is numbers. It spares the page 4 kB at first.
 */

/** No text is a colour. */
export const color = (): null => null;

function refuse(): never {
  throw new Error("d3-color is left out of this page: see canvas/no_colours.ts");
}

export const rgb = refuse;
export const hsl = refuse;
export const lab = refuse;
export const hcl = refuse;
export const cubehelix = refuse;
