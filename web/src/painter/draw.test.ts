import { expect, test } from "vitest";

import { asDrawn } from "./draw";

const opacity = (...pixels: readonly number[]): number[] => [...asDrawn(new Uint8ClampedArray(pixels))].filter((_, at) => at % 4 === 3);

test("a mask file without transparency is drawn where it is white", () => {
  expect(opacity(255, 255, 255, 255, 0, 0, 0, 255, 255, 0, 0, 255)).toEqual([255, 0, 76]);
});

test("a mask file with transparency is drawn where it is transparent, whatever its colours", () => {
  expect(opacity(255, 255, 255, 255, 9, 9, 9, 0, 0, 0, 0, 100)).toEqual([0, 255, 155]);
});
