import { describe, expect, it } from "vitest";

import { isTrackpad } from "./wheel";

const plain = { deltaX: 0, deltaY: 0, deltaMode: 0, ctrlKey: false, shiftKey: false };

describe("wheel", () => {
  it("takes a mouse wheel's notches as zoom", () => {
    expect(isTrackpad({ ...plain, deltaY: 100, wheelDeltaY: -120 })).toBe(false);
    expect(isTrackpad({ ...plain, deltaY: 3, deltaMode: 1 })).toBe(false);
  });

  it("takes two fingers as pan, and a pinch as zoom", () => {
    expect(isTrackpad({ ...plain, deltaY: 7, wheelDeltaY: -21 })).toBe(true);
    expect(isTrackpad({ ...plain, deltaX: 4, deltaY: 100, wheelDeltaY: -300 })).toBe(true);
    expect(isTrackpad({ ...plain, deltaY: 7, wheelDeltaY: -21, ctrlKey: true })).toBe(false);
  });
});
