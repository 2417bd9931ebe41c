import type { Command } from "./command";
import { selectionText, toClipboard } from "./fragments";
import { hasItems } from "./here";

const command: Command = {
  id: "copy", title: "edit.copy", group: "edit.group", keys: ["Mod+C"], byEvent: true,
  enabled: hasItems,
  run: () => toClipboard(selectionText() ?? ""),
};
export default command;
