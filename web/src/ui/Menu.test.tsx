// @vitest-environment happy-dom

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { Menu } from "./Menu";

afterEach(cleanup);

function open() {
  const [copy, red, close] = [vi.fn(), vi.fn(), vi.fn()];
  const groups = [
    [{ id: "copy", title: "Copy", run: copy }, { id: "gone", title: "Gone", isDisabled: true, run: copy }],
    [{ id: "colour", title: "Colour", items: [{ id: "red", title: "Red", run: red, isChecked: true }] }],
  ];
  render(<Menu label="Menu" groups={groups} at={{ x: 0, y: 0 }} onClose={close} />);
  const press = (key: string): void => void fireEvent.keyDown(document.activeElement ?? document.body, { key });
  return { copy, red, close, press, focused: () => document.activeElement?.textContent };
}

test("arrows go round, letters go to what begins with them", () => {
  const { press, focused } = open();
  expect(focused()).toBe("Copy");
  press("ArrowUp");
  expect(focused()).toBe("Colour");
  press("ArrowDown");
  expect(focused()).toBe("Copy");
  press("g");
  expect(focused()).toBe("Gone");
});

test("what is chosen is done once, and the menu closes", () => {
  const { copy, close } = open();
  fireEvent.click(screen.getByText("Copy"));
  expect([copy.mock.calls.length, close.mock.calls.length]).toEqual([1, 1]);
});

test("what cannot be done now does nothing", () => {
  const { copy, close } = open();
  fireEvent.click(screen.getByText("Gone"));
  expect([copy.mock.calls.length, close.mock.calls.length]).toEqual([0, 0]);
});

test("a further menu opens to the right and closes to the left", () => {
  const { press, focused, red } = open();
  press("End");
  press("ArrowRight");
  expect(focused()).toBe("Red");
  press("ArrowLeft");
  expect(focused()).toBe("Colour");
  press("ArrowRight");
  fireEvent.click(screen.getByText("Red"));
  expect(red).toHaveBeenCalledTimes(1);
});

test("Escape closes, and the focus is where it was", () => {
  const { press, close } = open();
  press("Escape");
  expect(close).toHaveBeenCalledTimes(1);
});
