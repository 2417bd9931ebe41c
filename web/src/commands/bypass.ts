import type { Command } from "./command";
import { hasNodes } from "./here";
import { toggleState } from "./state_of_nodes";

const command: Command = {
  id: "bypass", title: "edit.bypass", group: "edit.nodes", keys: ["Mod+B"],
  enabled: hasNodes,
  run: () => toggleState("bypassed", "edit.bypass"),
};
export default command;
