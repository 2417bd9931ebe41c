import { describe, expect, it } from "vitest";

import { along, around, boxAround, curvesOf, isIn, laneBetween, meet, nearest, seen, viewOf } from "./geometry";

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

  it("leads a wire that goes back between the two boxes, and through neither", () => {
    const [source, target] = [{ x: 0, y: 0, width: 240, height: 100 }, { x: 0, y: 120, width: 240, height: 32 }];
    for (const [from, to] of [[source, target], [target, source]] as const) {
      const [start, end] = [{ x: from.x + from.width, y: from.y + 16 }, { x: to.x, y: to.y + 16 }];
      const curves = curvesOf(start, end, [], laneBetween(from, to));
      expect([curves[0]?.[0], curves.at(-1)?.[3]]).toEqual([start, end]);
      for (let at = 0; at <= 10; at++) {
        for (const curve of curves) {
          const { x, y } = along(curve, at / 10);
          for (const box of [source, target]) expect(meet({ x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2 }, { x, y, width: 0, height: 0 })).toBe(false);
        }
      }
    }
  });

  it("leads a wire that goes back above two boxes beside each other", () => {
    expect(laneBetween({ x: 300, y: 50, width: 240, height: 100 }, { x: 0, y: 20, width: 240, height: 100 })).toBeLessThan(20);
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
