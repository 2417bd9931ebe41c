import { menuTarget } from "../state/menu";
import { openAddNode } from "../state/palette";
import type { Command } from "./command";

const command: Command = {
  id: "insert_on_wire",
  title: "commands.insert_on_wire",
  group: "edit.group",
  enabled: () => menuTarget()?.kind === "wire",
  run() {
    const target = menuTarget();
    if (target?.kind === "wire") openAddNode({ into: target.to, ...(target.at === undefined ? {} : { at: target.at }) });
  },
};
export default command;
