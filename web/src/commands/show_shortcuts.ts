import { createElement } from "react";

import { showDialog } from "../ui/dialogs";
import { later } from "../ui/later";
import type { Command } from "./command";

// It lists all commands, of which this is one: loaded when it is shown.
const Shortcuts = later(async () => ({ default: (await import("../palette/Shortcuts")).Shortcuts }));

const command: Command = {
  id: "show_shortcuts",
  title: "commands.show_shortcuts",
  group: "commands.group",
  keys: ["?"],
  run: () => void showDialog(createElement(Shortcuts)),
};
export default command;
