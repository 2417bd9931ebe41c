// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { listenToTouches } from "./longpress";

let asked = 0;
let stop = (): void => undefined;
beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  document.body.innerHTML = '<main id="canvas"><p id="node"></p></main><p id="outside"></p>';
  document.body.oncontextmenu = () => { asked++; };
  stop = listenToTouches();
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

function touch(name: string, x = 0, id = "node"): void {
  const event = new PointerEvent(name, { bubbles: true, pointerType: "touch", isPrimary: true, clientX: x, clientY: 0 });
  document.getElementById(id)?.dispatchEvent(event);
}

test("a finger that stays half a second asks for the menu", () => {
  touch("pointerdown");
  vi.advanceTimersByTime(600);
  expect(asked).toBe(1);
});

test("a finger that moves or lets go does not", () => {
  touch("pointerdown");
  touch("pointermove", 40);
  vi.advanceTimersByTime(600);
  touch("pointerdown");
  touch("pointerup");
  vi.advanceTimersByTime(600);
  expect(asked).toBe(0);
});

test("only the canvas has such a menu", () => {
  touch("pointerdown", 0, "outside");
  vi.advanceTimersByTime(600);
  expect(asked).toBe(0);
});

test("lifting the finger after it chooses nothing; lifting it after a tap is a click as ever", () => {
  const lift = (): boolean => document.getElementById("node")?.dispatchEvent(new Event("touchend", { bubbles: true, cancelable: true })) ?? true;
  touch("pointerdown");
  vi.advanceTimersByTime(600);
  touch("pointerup");
  expect(lift()).toBe(false);
  touch("pointerdown");
  touch("pointerup");
  expect(lift()).toBe(true);
});
