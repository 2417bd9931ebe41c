import { disconnect } from "../model/edit";
import { menuTarget } from "../state/menu";
import type { Command } from "./command";
import { apply, here } from "./here";

const command: Command = {
  id: "remove_wire",
  title: "commands.remove_wire",
  group: "edit.group",
  enabled: () => menuTarget()?.kind === "wire",
  run() {
    const [at, target] = [here(), menuTarget()];
    if (at !== null && target?.kind === "wire") apply("commands.remove_wire", disconnect(at.scopeId, target.to));
  },
};
export default command;
