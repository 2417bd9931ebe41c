import { expect, test } from "vitest";

import { roomFor } from "./places";

const wanted = { x: 100.4, y: 50, width: 200, height: 100 };

test("a free place is taken as it is, in whole numbers", () => {
  expect(roomFor(wanted, [])).toEqual({ ...wanted, x: 100 });
});

test("over something else the box goes below it first", () => {
  const found = roomFor(wanted, [{ x: 100, y: 50, width: 200, height: 60 }]);
  expect(found.x).toBe(100);
  expect(found.y).toBeGreaterThanOrEqual(50 + 60 + 24);
});

test("however full it is, the box covers nothing", () => {
  const taken = Array.from({ length: 100 }, (_, index) => ({ x: (index % 10) * 240 - 1000, y: Math.floor(index / 10) * 140 - 600, width: 200, height: 100 }));
  const found = roomFor(wanted, taken);
  const hits = taken.filter((one) => found.x < one.x + one.width && one.x < found.x + 200 && found.y < one.y + one.height && one.y < found.y + 100);
  expect(hits).toEqual([]);
});
