import { menuTarget } from "../state/menu";
import { openAddNode } from "../state/palette";
import type { Command } from "./command";
import { targetWire } from "./wires";

const command: Command = {
  id: "insert_on_wire",
  title: "commands.insert_on_wire",
  group: "edit.group",
  enabled: () => targetWire() !== null,
  run() {
    const [wire, target] = [targetWire(), menuTarget()];
    if (wire !== null) openAddNode({ into: wire, ...(target?.kind === "wire" && target.at !== undefined ? { at: target.at } : {}) });
  },
};
export default command;
