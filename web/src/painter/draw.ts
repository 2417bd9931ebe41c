/**
 * Draws a mask: opaque where it is, transparent where it is not; so erasing and inverting are compositing. The colour is for
 * the eye; `levels` reads the mask from the opacity.
 */

import type { Dab, Deed, Tool } from "./strokes";

/** Shown over the picture, whatever its colours. */
const COLOUR = "#ff2d6f";

export function drawAll(context: CanvasRenderingContext2D, deeds: readonly Deed[]): void {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  for (const deed of deeds) drawDeed(context, deed);
}

function drawDeed(context: CanvasRenderingContext2D, deed: Deed): void {
  const { width, height } = context.canvas;
  context.fillStyle = COLOUR;
  if (deed.kind === "clear") context.clearRect(0, 0, width, height);
  else if (deed.kind === "stroke") deed.dabs.forEach((dab, index) => drawDab(context, deed.tool, deed.dabs[index - 1], dab));
  else {
    context.globalCompositeOperation = deed.kind === "invert" ? "xor" : "source-over";
    context.fillRect(0, 0, width, height);
    context.globalCompositeOperation = "source-over";
  }
}

/** From the touch before to this one: round, and as wide as both. */
export function drawDab(context: CanvasRenderingContext2D, tool: Tool, before: Dab | undefined, dab: Dab): void {
  context.globalCompositeOperation = tool === "brush" ? "source-over" : "destination-out";
  context.fillStyle = COLOUR;
  const from = before ?? dab;
  const distance = Math.hypot(dab.x - from.x, dab.y - from.y);
  // Circles close to one another: a line has one width, and a pen's changes on the way.
  const steps = Math.max(1, Math.ceil(distance / Math.max(0.5, Math.min(from.radius, dab.radius) / 4)));
  context.beginPath();
  for (let step = before === undefined ? steps : 1; step <= steps; step++) {
    const part = step / steps;
    const [x, y] = [from.x + (dab.x - from.x) * part, from.y + (dab.y - from.y) * part];
    const radius = from.radius + (dab.radius - from.radius) * part;
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fill();
  context.globalCompositeOperation = "source-over";
}

/** The mask as grey levels, a byte per pixel: white is where it is. */
export function levels(context: CanvasRenderingContext2D): Uint8Array {
  const { width, height } = context.canvas;
  const { data } = context.getImageData(0, 0, width, height);
  const found = new Uint8Array(width * height);
  for (let index = 0; index < found.length; index++) found[index] = data[index * 4 + 3] ?? 0;
  return found;
}
