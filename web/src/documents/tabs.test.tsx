// @vitest-environment happy-dom

import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";

import tabs from "../bars/Tabs";
import { emptyDocument } from "../model/document";
import { useDocuments } from "../state/documents";
import { openUntitled, useSaving } from "../state/saving";
import { moveTab } from "./actions";

const { Component } = tabs;
const names = (): (string | undefined)[] => within(screen.getByRole("list")).getAllByRole("listitem").map((item) => item.querySelector("button")?.title);

beforeEach(() => {
  useDocuments.setState({ open: [], active: "" });
  for (const name of ["one", "two", "three"]) openUntitled(emptyDocument(name), null, name);
  render(<Component />);
});

afterEach(() => {
  cleanup();
  useSaving.setState({ pristine: {}, states: {}, closed: [] });
});

it("a tab says in words that it is not saved, and so does the title of the window", () => {
  expect(screen.queryByText(/not saved/)).toBeNull();
  expect(document.title).toBe("three – Latentgraph");
  fireEvent.click(screen.getByRole("button", { name: "one" }));
  act(() => useDocuments.getState().apply("edit.undo", (now) => ({ ...now, description: "changed" })));
  expect(screen.getByRole("button", { name: /^one.*, not saved$/ })).toBeTruthy();
  expect(document.title).toBe("• one – Latentgraph");
});

it("Alt and a digit shows a tab, but not while somebody types", () => {
  fireEvent.keyDown(window, { code: "Digit2", altKey: true });
  expect(useDocuments.getState().active).toBe("two");
  const field = document.body.appendChild(document.createElement("input"));
  fireEvent.keyDown(field, { code: "Digit1", altKey: true });
  expect(useDocuments.getState().active).toBe("two");
  fireEvent.keyDown(window, { code: "Digit9", altKey: true });
  expect(useDocuments.getState().active).toBe("three");
  field.remove();
});

it("tabs are moved, closed by the cross and by the middle button", async () => {
  act(() => moveTab("three", 0));
  expect(names()).toEqual(["three", "one", "two"]);
  fireEvent.click(screen.getByRole("button", { name: "Close one" }));
  await expect.poll(names).toEqual(["three", "two"]);
  const item = screen.getByRole("button", { name: "two" }).closest("li");
  if (item !== null) fireEvent(item, new MouseEvent("auxclick", { bubbles: true, button: 1 }));
  await expect.poll(names).toEqual(["three"]);
});
