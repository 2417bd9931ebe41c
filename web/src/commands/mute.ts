import type { Command } from "./command";
import { hasNodes } from "./here";
import { toggleState } from "./state_of_nodes";

const command: Command = {
  id: "mute", title: "edit.mute", group: "edit.nodes", keys: ["M", "Mod+M"],
  enabled: hasNodes,
  run: () => toggleState("muted", "edit.mute"),
};
export default command;
