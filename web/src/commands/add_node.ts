import { useDocuments } from "../state/documents";
import { menuTarget } from "../state/menu";
import { openAddNode } from "../state/palette";
import type { Command } from "./command";

const command: Command = {
  id: "add_node",
  title: "edit.add_node",
  group: "edit.group",
  keys: ["Tab", "Shift+A"],
  enabled: () => useDocuments.getState().active !== "",
  run() {
    const target = menuTarget();
    openAddNode(target?.kind === "canvas" && target.at !== undefined ? { at: target.at } : {});
  },
};
export default command;
