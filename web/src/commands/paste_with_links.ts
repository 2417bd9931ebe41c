import type { Command } from "./command";
import { pasteFromClipboard } from "./clipboard_events";
import { here } from "./here";

/** Links to nodes that were not copied are made again, where these nodes are. */
const command: Command = {
  id: "paste_with_links", title: "edit.paste_with_links", group: "edit.group", keys: ["Mod+Shift+V"], byEvent: true,
  enabled: () => here() !== null,
  run: () => pasteFromClipboard(true),
};
export default command;
