/** All commands, by id. */

import type { Command } from "./command";

const modules = import.meta.glob<{ default?: Command }>(["./*.ts", "!./*.test.ts", "!./command.ts", "!./registry.ts", "!./keyboard.ts", "!./keys.ts", "!./testing.ts"], {
  eager: true,
});

export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.values(modules).flatMap((module) => (module.default === undefined ? [] : [[module.default.id, module.default]])),
);

/** Run a command if it can be run now; whether it was. */
export function runCommand(id: string): boolean {
  const command = COMMANDS.get(id);
  if (command === undefined) throw new Error(`there is no command ${id}`);
  if (command.enabled?.() === false) return false;
  void command.run();
  return true;
}
