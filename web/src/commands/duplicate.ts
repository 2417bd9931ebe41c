import type { Command } from "./command";
import { duplicateSelection } from "./fragments";
import { hasItems } from "./here";

const command: Command = {
  id: "duplicate", title: "edit.duplicate", group: "edit.group", keys: ["Mod+D"],
  enabled: hasItems,
  run: duplicateSelection,
};
export default command;
