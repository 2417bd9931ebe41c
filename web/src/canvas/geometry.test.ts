import { describe, expect, it } from "vitest";

import { along, around, boxAround, curvesOf, isIn, nearest, seen, viewOf } from "./geometry";

describe("geometry", () => {
  it("leads a wire through its points in order", () => {
    const curves = curvesOf({ x: 0, y: 0 }, { x: 200, y: 0 }, [{ x: 100, y: 80 }]);
    expect(curves.map((curve) => [curve[0], curve[3]])).toEqual([
      [{ x: 0, y: 0 }, { x: 100, y: 80 }], [{ x: 100, y: 80 }, { x: 200, y: 0 }],
    ]);
  });

  it("tells which part of a wire is nearest, to put a new point there", () => {
    const curves = curvesOf({ x: 0, y: 0 }, { x: 200, y: 0 }, [{ x: 100, y: 80 }]);
    expect(nearest(curves, { x: 30, y: 10 }).index).toBe(0);
    expect(nearest(curves, { x: 170, y: 10 }).index).toBe(1);
  });

  it("keeps every point of a wire inside its box, also of one that goes back", () => {
    const curves = curvesOf({ x: 500, y: 10 }, { x: 0, y: 90 });
    const box = boxAround(curves);
    for (let at = 0; at <= 10; at++) for (const curve of curves) expect(isIn(box, along(curve, at / 10), 0.001)).toBe(true);
  });

  it("fits a box into the window and sees exactly what it fits", () => {
    const box = { x: 100, y: 50, width: 1600, height: 400 };
    const shown = seen(viewOf(box, 800, 600, 0.05, 1, 0), 800, 600);
    expect(shown.x).toBeCloseTo(100);
    expect(shown.width).toBeCloseTo(1600);
  });

  it("has no box around nothing", () => {
    expect(around([])).toBeNull();
  });
});
