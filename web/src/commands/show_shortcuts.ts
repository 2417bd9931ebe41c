import { createElement } from "react";

import { Shortcuts } from "../palette/Shortcuts";
import { showDialog } from "../ui/dialogs";
import type { Command } from "./command";

const command: Command = {
  id: "show_shortcuts",
  title: "commands.show_shortcuts",
  group: "commands.group",
  keys: ["?"],
  run: () => void showDialog(createElement(Shortcuts)),
};
export default command;
