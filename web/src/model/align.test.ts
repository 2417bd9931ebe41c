import { describe, expect, it } from "vitest";

import { align, distribute } from "./align";

const boxes = [
  { id: "a", x: 0, y: 10, width: 100, height: 20 },
  { id: "b", x: 50, y: 100, width: 50, height: 40 },
  { id: "c", x: 300, y: 0, width: 20, height: 100 },
];

describe("aligning", () => {
  it.each([
    ["left", [0, 0, 0], [10, 100, 0]], ["right", [220, 270, 300], [10, 100, 0]], ["center", [110, 135, 150], [10, 100, 0]],
    ["top", [0, 50, 300], [0, 0, 0]], ["bottom", [0, 50, 300], [120, 100, 40]], ["middle", [0, 50, 300], [60, 50, 20]],
  ] as const)("to the %s", (how, xs, ys) => {
    const places = align(boxes, how);
    expect(boxes.map((box) => places[box.id])).toEqual(xs.map((x, at) => ({ x, y: ys[at] })));
  });
});

describe("distributing", () => {
  it("leaves equal gaps and the outermost in place", () => {
    expect(distribute(boxes, "horizontal")).toEqual({ a: { x: 0, y: 10 }, b: { x: 175, y: 100 }, c: { x: 300, y: 0 } });
    expect(distribute(boxes, "vertical")).toEqual({ c: { x: 300, y: 0 }, a: { x: 0, y: 90 }, b: { x: 50, y: 100 } });
  });

  it("overlaps evenly where there is no room, and leaves two as they are", () => {
    const crowded = [0, 1, 10].map((x, at) => ({ id: String.fromCharCode(97 + at), x, y: 0, width: 10, height: 1 }));
    expect(distribute(crowded, "horizontal")["b"]).toEqual({ x: 5, y: 0 });
    expect(distribute(boxes.slice(0, 2), "horizontal")).toEqual({ a: { x: 0, y: 10 }, b: { x: 50, y: 100 } });
    expect(distribute([], "vertical")).toEqual({});
  });
});
