import { expect, test } from "vitest";

import { ACTUAL, FIT, type Zoom, fitScale, panned, scaleOf, zoomed } from "./zoom";

const picture = { width: 400, height: 200 };
const frame = { width: 800, height: 600 };

test("fit shows the whole picture, and enlarges a small one eight times at most", () => {
  expect(fitScale(picture, frame)).toBe(2);
  expect(fitScale({ width: 4000, height: 3000 }, frame)).toBe(0.2);
  expect(fitScale({ width: 16, height: 16 }, frame)).toBe(8);
});

/** From the middle of the picture, in its pixels: what lies under a point of the frame (from its middle). */
function under(zoom: Zoom, at: { readonly x: number; readonly y: number }): { x: number; y: number } {
  const scale = scaleOf(zoom, picture, frame);
  return { x: (at.x - zoom.x) / scale, y: (at.y - zoom.y) / scale };
}

test("zooming keeps the pixel under the pointer where it is", () => {
  const at = { x: 120, y: -40 };
  const before = under(FIT, at);
  const closer = zoomed(FIT, 1.7, at, picture, frame);
  const after = under(closer, at);
  expect(scaleOf(closer, picture, frame)).toBeCloseTo(3.4);
  expect(after.x).toBeCloseTo(before.x);
  expect(after.y).toBeCloseTo(before.y);
});

test("the picture cannot be pushed out of the frame", () => {
  const far = panned(ACTUAL, { x: 5000, y: -5000 }, picture, frame);
  expect(far).toEqual({ scale: 1, x: 560, y: -360 });
});

test("the zoom has bounds", () => {
  expect(zoomed(ACTUAL, 1e6, { x: 0, y: 0 }, picture, frame).scale).toBe(64);
  expect(zoomed(ACTUAL, 1e-6, { x: 0, y: 0 }, picture, frame).scale).toBe(0.02);
});
