import type { Command } from "./command";
import { cutSelection, selectionText, toClipboard } from "./fragments";
import { hasItems } from "./here";

const command: Command = {
  id: "cut", title: "edit.cut", group: "edit.group", keys: ["Mod+X"], byEvent: true,
  enabled: hasItems,
  async run() {
    const text = selectionText() ?? "";
    cutSelection(); // before the browser asks: what is selected then may be something else
    await toClipboard(text);
  },
};
export default command;
