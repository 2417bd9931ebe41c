// @vitest-environment happy-dom

/** Letters typed while a list is on its way are not lost. */

import { afterEach, beforeEach, expect, it } from "vitest";

import { closePalette, keepTyped, openCommands, usePalette } from "./palette";

let stop: () => void;

beforeEach(() => {
  openCommands();
  stop = keepTyped();
});

afterEach(() => {
  stop();
  closePalette();
});

function press(...keys: string[]): void {
  for (const key of keys) window.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

it("keeps what is typed for the field of the list, and that Enter was pressed", () => {
  press("f", "o", "t", "Backspace", "r", "Enter");
  expect(usePalette.getState()).toMatchObject({ typed: "for", isEntered: true });
});

it("keeps a typed letter from going elsewhere", () => {
  const event = new KeyboardEvent("keydown", { key: "x", bubbles: true, cancelable: true });
  window.dispatchEvent(event);
  expect(event.defaultPrevented).toBe(true);
});

it("leaves keys with Ctrl to the browser", () => {
  const event = new KeyboardEvent("keydown", { key: "r", ctrlKey: true, cancelable: true });
  window.dispatchEvent(event);
  expect([event.defaultPrevented, usePalette.getState().typed]).toEqual([false, ""]);
});

it("closes the list before it is there with Escape, and begins the next one empty", () => {
  press("a", "Escape");
  expect(usePalette.getState().shown).toBeNull();
  openCommands();
  expect(usePalette.getState().typed).toBe("");
});
