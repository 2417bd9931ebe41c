/**
 * A user action: one per file, found by the palette, the menus and the keyboard alike.
 *
 * Every file `commands/<name>.ts` has one command as its default export; `registry.ts` collects them. `run` reads and
 * changes the stores of `state/` through their `getState()`, and nothing else.
 */

import type { TextKey } from "../texts";

export interface Command {
  /** The name of its file. */
  readonly id: string;
  readonly title: TextKey;
  readonly group: TextKey;
  /**
   * Keys that run it, "Mod+Shift+K" (Mod: Ctrl, on a Mac Cmd), as `KeyboardEvent.key` names them. Never while typing in a
   * field, unless `whileTyping`.
   */
  readonly keys?: readonly string[];
  readonly whileTyping?: boolean;
  /** The browser tells of these keys by an event of its own (copy, cut, paste), and that runs it. */
  readonly byEvent?: boolean;
  /** Not in the list of commands: it only makes sense by its keys or in a menu. */
  readonly hidden?: boolean;
  /** Context menus it stands in, beside those that `menus/entries.ts` lists. */
  readonly menus?: readonly ("canvas" | "node" | "wire" | "frame" | "note")[];
  /** Whether it can be run now; without: always. */
  enabled?(): boolean;
  run(): void | Promise<void>;
}
