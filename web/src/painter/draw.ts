/**
 * Draws a mask: opaque where it is, transparent where it is not; so erasing and inverting are compositing. The colour is for
 * the eye; `levels` reads the mask from the opacity.
 */

import type { Dab, Deed, Tool } from "./strokes";

/** Shown over the picture, whatever its colours. */
const COLOUR = "#ff2d6f";
const [RED, GREEN, BLUE] = [0xff, 0x2d, 0x6f];

export function drawAll(context: CanvasRenderingContext2D, deeds: readonly Deed[]): void {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  for (const deed of deeds) drawDeed(context, deed);
}

function drawDeed(context: CanvasRenderingContext2D, deed: Deed): void {
  const { width, height } = context.canvas;
  context.fillStyle = COLOUR;
  if (deed.kind === "clear") context.clearRect(0, 0, width, height);
  else if (deed.kind === "given") context.drawImage(deed.mask as CanvasImageSource, 0, 0, width, height); // it is what `readMask` gave
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

/** A mask file as the node `load_mask` reads it by itself, to be drawn on: its transparency if it has any, else its luminance. */
export async function readMask(file: Blob): Promise<OffscreenCanvas> {
  const bitmap = await createImageBitmap(file);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser gives no place to draw");
  context.drawImage(bitmap, 0, 0);
  const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height);
  pixels.data.set(asDrawn(pixels.data));
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** Pixels (red, green, blue, alpha) of a mask file as the mask is drawn: in its colour, opaque where it is. */
export function asDrawn(pixels: Uint8ClampedArray): Uint8ClampedArray {
  const drawn = new Uint8ClampedArray(pixels.length);
  let isOpaque = true;
  for (let at = 3; at < pixels.length && isOpaque; at += 4) isOpaque = pixels[at] === 255;
  for (let at = 0; at < pixels.length; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = pixels.subarray(at, at + 4);
    drawn.set([RED, GREEN, BLUE, isOpaque ? 0.299 * red + 0.587 * green + 0.114 * blue : 255 - alpha], at);
  }
  return drawn;
}

/** The mask as grey levels, a byte per pixel: white is where it is. */
export function levels(context: CanvasRenderingContext2D): Uint8Array {
  const { width, height } = context.canvas;
  const { data } = context.getImageData(0, 0, width, height);
  const found = new Uint8Array(width * height);
  for (let index = 0; index < found.length; index++) found[index] = data[index * 4 + 3] ?? 0;
  return found;
}
