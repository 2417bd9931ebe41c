// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { closePalette, openCommands } from "../state/palette";
import { showDialog } from "../ui/dialogs";
import type { Command } from "./command";
import { listenToKeys, table } from "./keyboard";
import { shownKeys, spelled, spellings } from "./keys";
import { COMMANDS } from "./registry";

let stop = (): void => undefined;
beforeEach(() => { document.body.innerHTML = '<main id="canvas" tabindex="-1"></main><input id="field"><button id="button">b</button>'; });
afterEach(() => stop());

function command(keys: string[], more: Partial<Command> = {}): Command & { run: ReturnType<typeof vi.fn> } {
  return { id: keys.join(), title: "edit.undo", group: "edit.group", keys, ...more, run: vi.fn() } as never;
}
function listen(...commands: Command[]): void {
  stop = listenToKeys(window, commands);
}
function press(key: string, more: KeyboardEventInit = {}, on = "canvas"): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  document.getElementById(on)?.dispatchEvent(event);
  return event;
}

test("a key runs its command and is taken from the browser", () => {
  const one = command(["Mod+K"]);
  listen(one);
  expect(press("k", { ctrlKey: true }).defaultPrevented).toBe(true);
  expect(one.run).toHaveBeenCalledTimes(1);
});

test("other held keys are other keys", () => {
  const one = command(["Mod+K"]);
  listen(one);
  press("k");
  press("k", { ctrlKey: true, shiftKey: true });
  press("k", { ctrlKey: true, altKey: true });
  expect(one.run).not.toHaveBeenCalled();
});

test("typing in a field runs only what may be run while typing", () => {
  const [letter, save] = [command(["M"]), command(["Mod+S"], { whileTyping: true })];
  listen(letter, save);
  expect(press("m", {}, "field").defaultPrevented).toBe(false);
  press("s", { ctrlKey: true }, "field");
  expect(letter.run).not.toHaveBeenCalled();
  expect(save.run).toHaveBeenCalledTimes(1);
});

test("what was typed in a field counts before a command that closes its panel, and the field keeps the focus", () => {
  const seen: string[] = [];
  const field = document.getElementById("field")!;
  field.addEventListener("blur", () => seen.push("left"));
  field.focus();
  listen({ ...command(["Alt+I"], { whileTyping: true }), run: () => void seen.push(document.activeElement === field ? "run in the field" : "run elsewhere") });
  press("i", { altKey: true }, "field");
  expect(seen).toEqual(["left", "run in the field"]);
});

test("keys that operate a button stay with it", () => {
  const one = command(["Enter", "M"]);
  listen(one);
  press("Enter", {}, "button");
  expect(one.run).not.toHaveBeenCalled();
  press("m", {}, "button");
  expect(one.run).toHaveBeenCalledTimes(1);
});

test("Tab goes on through the page unless the canvas has the focus", () => {
  const one = command(["Tab"]);
  listen(one);
  document.getElementById("button")?.focus();
  press("Tab", {}, "button");
  expect(one.run).not.toHaveBeenCalled();
  document.getElementById("canvas")?.focus();
  press("Tab");
  expect(one.run).toHaveBeenCalledTimes(1);
});

test("while a dialog or a list is open its keys are its own", () => {
  const one = command(["M"]);
  listen(one);
  const close = showDialog(null);
  press("m");
  close();
  openCommands();
  press("m");
  closePalette();
  expect(one.run).not.toHaveBeenCalled();
  press("m");
  expect(one.run).toHaveBeenCalledTimes(1);
});

test("what cannot be run now leaves the key to the browser", () => {
  const one = command(["M"], { enabled: () => false });
  listen(one);
  expect(press("m").defaultPrevented).toBe(false);
  expect(one.run).not.toHaveBeenCalled();
});

test("a sign is found by itself and by its place", () => {
  const plain = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: true };
  expect(spellings({ key: "?", code: "Slash", ...plain }, false)).toContain("?");
  expect(spellings({ key: "!", code: "Digit1", ...plain }, false)).toContain("Shift+1");
  expect(spellings({ key: "ь", code: "KeyM", ...plain, shiftKey: false }, false)).toContain("M");
  expect(spellings({ key: "z", code: "KeyY", ...plain, shiftKey: false }, false)).toEqual(["Z"]);
});

test("Cmd is Mod on a Mac and Ctrl is not", () => {
  const keys = { key: "k", code: "KeyK", altKey: false, shiftKey: false };
  expect(spellings({ ...keys, metaKey: true, ctrlKey: false }, true)).toEqual(["Mod+K"]);
  expect(spellings({ ...keys, metaKey: false, ctrlKey: true }, true)).toEqual(["Ctrl+K"]);
});

test("keys are spelled and shown in one way", () => {
  expect(spelled("shift+mod+k")).toBe("Mod+Shift+K");
  expect(spelled("Mod++")).toBe("Mod++");
  expect(shownKeys("Mod+Shift+K", false)).toBe("Ctrl+Shift+K");
  expect(shownKeys("Mod+Shift+K", true)).toBe("⌘⇧K");
  expect(shownKeys("Mod+Shift+Delete", false, "de")).toBe("Strg+Umschalt+Entf");
  expect(shownKeys("Mod+Shift+Delete", true, "de")).toBe("⌘⇧Del");
});

test("no two commands have the same key", () => {
  const shared = [...table(COMMANDS.values())].filter(([, found]) => found.length > 1);
  expect(shared.map(([keys, found]) => `${keys}: ${found.map((one) => one.id).join(", ")}`)).toEqual([]);
});

test("every command is found under its own id", () => {
  expect([...COMMANDS].filter(([id, one]) => id !== one.id || !/^[a-z][a-z0-9_]*$/.test(id))).toEqual([]);
});
