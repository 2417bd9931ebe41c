import type { Command } from "./command";
import { cutSelection, selectionText, toClipboard } from "./fragments";
import { hasItems } from "./here";

const command: Command = {
  id: "cut", title: "edit.cut", group: "edit.group", keys: ["Mod+X"], byEvent: true,
  enabled: hasItems,
  async run() {
    await toClipboard(selectionText() ?? "");
    cutSelection();
  },
};
export default command;
