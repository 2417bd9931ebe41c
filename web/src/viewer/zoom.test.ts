import { expect, test } from "vitest";

import { ACTUAL, FIT, fitScale, panned, pixelAt, scaleOf, zoomed } from "./zoom";

const picture = { width: 400, height: 200 };
const frame = { width: 800, height: 600 };

test("fit shows the whole picture, and enlarges a small one eight times at most", () => {
  expect(fitScale(picture, frame)).toBe(2);
  expect(fitScale({ width: 4000, height: 3000 }, frame)).toBe(0.2);
  expect(fitScale({ width: 16, height: 16 }, frame)).toBe(8);
});

test("zooming keeps the pixel under the pointer where it is", () => {
  const at = { x: 120, y: -40 };
  const before = pixelAt(FIT, at, picture, frame);
  const closer = zoomed(FIT, 1.7, at, picture, frame);
  const after = pixelAt(closer, at, picture, frame);
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
