import type { Command } from "./command";
import { pasteFromClipboard } from "./clipboard_events";
import { here } from "./here";

const command: Command = {
  id: "paste", title: "edit.paste", group: "edit.group", keys: ["Mod+V"], byEvent: true,
  enabled: () => here() !== null,
  run: () => pasteFromClipboard(false),
};
export default command;
