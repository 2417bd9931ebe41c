/**
 * The one listener for keys: finds the command of what was pressed and runs it.
 *
 * Not while one types in a field (unless the command says so), nor while a dialog, a list or a menu is open: these have
 * keys of their own.
 */

import { useMenu } from "../state/menu";
import { usePalette } from "../state/palette";
import { isDialogOpen } from "../ui/dialogs";
import type { Command } from "./command";
import { canvasHasTheFocus, isTyping } from "./focus";
import { spelled, spellings } from "./keys";
import { COMMANDS } from "./registry";

/** Listen from now on; the function that ends it. */
export function listenToKeys(target: Window | HTMLElement = window, commands: Iterable<Command> = COMMANDS.values()): () => void {
  const byKeys = table(commands);
  const listener = (event: Event): void => {
    if (event instanceof KeyboardEvent) pressed(event, byKeys);
  };
  target.addEventListener("keydown", listener);
  return () => target.removeEventListener("keydown", listener);
}

/** The command of each key, in one spelling. */
export function table(commands: Iterable<Command>): ReadonlyMap<string, readonly Command[]> {
  const found = new Map<string, Command[]>();
  for (const command of commands) {
    for (const keys of command.keys ?? []) found.set(spelled(keys), [...(found.get(spelled(keys)) ?? []), command]);
  }
  return found;
}

function pressed(event: KeyboardEvent, byKeys: ReadonlyMap<string, readonly Command[]>): void {
  if (event.defaultPrevented || event.isComposing || isBusy()) return;
  const typing = isTyping(event.target);
  for (const keys of spellings(event)) {
    for (const command of byKeys.get(keys) ?? []) {
      if (command.byEvent || (typing && !command.whileTyping)) continue;
      if (isForTheElement(event) || command.enabled?.() === false) continue;
      event.preventDefault();
      if (typing) takeTyped(event.target);
      void command.run();
      return;
    }
  }
}

/** What counts only when one leaves the field counts before the command: it may close the panel, or be about it. */
function takeTyped(field: EventTarget | null): void {
  if (!(field instanceof HTMLElement)) return;
  field.blur();
  if (field.isConnected) field.focus({ preventScroll: true });
}

function isBusy(): boolean {
  return isDialogOpen() || usePalette.getState().shown !== null || useMenu.getState().open !== null;
}

const OPERATED = "button, a[href], input, select, summary, [role=button], [role=tab], [role=slider], [role=option], [role=menuitem]";
const OPERATES = new Set(["Enter", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);

/** Whether the key is what operates the element with the focus, or moves the focus on. */
function isForTheElement(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "Tab") return !canvasHasTheFocus();
  if (!OPERATES.has(event.key) || !(event.target instanceof HTMLElement)) return false;
  const operated = event.target.closest(OPERATED);
  if (operated === null) return false;
  // Of what can have the focus in menus and lists each key is theirs; a button alone has but two.
  return !operated.matches("button:not([role]), a[href]") || event.key === "Enter" || event.key === " ";
}
