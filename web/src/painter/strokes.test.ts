import { expect, test } from "vitest";

import { BLANK, type Deed, did, isBlank, onGiven, pressed, redo, sized, undo, visible } from "./strokes";

const stroke: Deed = { kind: "stroke", tool: "brush", dabs: [{ x: 1, y: 2, radius: 3 }] };
const rubbed: Deed = { kind: "stroke", tool: "eraser", dabs: [{ x: 1, y: 2, radius: 3 }] };

test("undo takes the last deed back and redo does it again", () => {
  const painting = did(did(BLANK, stroke), { kind: "invert" });
  expect(undo(painting).deeds).toEqual([stroke]);
  expect(redo(undo(painting))).toEqual(painting);
  expect(undo(undo(undo(painting))).deeds).toEqual([]);
});

test("a new deed after an undo ends what could be redone", () => {
  const painting = did(undo(did(BLANK, stroke)), { kind: "invert" });
  expect(redo(painting)).toBe(painting);
});

test("an empty stroke and a clear of nothing are no steps", () => {
  expect(did(BLANK, { kind: "stroke", tool: "brush", dabs: [] })).toBe(BLANK);
  expect(did(BLANK, { kind: "clear" })).toBe(BLANK);
  const cleared = did(did(BLANK, stroke), { kind: "clear" });
  expect(did(cleared, { kind: "clear" })).toBe(cleared);
});

test("what was painted before a clear does not show, and comes back by undo", () => {
  const cleared = did(did(BLANK, stroke), { kind: "clear" });
  expect(visible(cleared)).toEqual([]);
  expect(visible(undo(cleared))).toEqual([stroke]);
  expect(visible(did(did(did(BLANK, stroke), { kind: "fill" }), rubbed))).toEqual([{ kind: "fill" }, rubbed]);
});

test("a mask of nothing, or only rubbed at, is blank", () => {
  expect(isBlank(BLANK)).toBe(true);
  expect(isBlank(did(BLANK, rubbed))).toBe(true);
  expect(isBlank(did(BLANK, stroke))).toBe(false);
  expect(isBlank(did(BLANK, { kind: "invert" }))).toBe(false);
});

test("the brush grows and shrinks by even steps within bounds", () => {
  expect(sized(10, 1)).toBe(12);
  expect(sized(12, -1)).toBe(10);
  expect(sized(512, 5)).toBe(512);
  expect(sized(0.5, -5)).toBe(0.5);
});

test("a pen paints wider the harder it is pressed, a mouse always full", () => {
  expect(pressed(10, "mouse", 0.5)).toBe(10);
  expect(pressed(10, "pen", 1)).toBe(10);
  expect(pressed(10, "pen", 0.2)).toBeLessThan(pressed(10, "pen", 0.8));
});

test("a mask that was there lies below what was painted, counts as painted, and goes with a clear", () => {
  const mask = {};
  const painting = onGiven(did(BLANK, stroke), mask);
  expect(visible(painting)).toEqual([{ kind: "given", mask }, stroke]);
  expect(isBlank(onGiven(BLANK, mask))).toBe(false);
  expect(isBlank(did(onGiven(BLANK, mask), { kind: "clear" }))).toBe(true);
  expect(undo(undo(painting)).deeds).toEqual([]);
});
