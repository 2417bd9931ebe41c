import { disconnect } from "../model/edit";
import type { Command } from "./command";
import { apply, here } from "./here";
import { targetWire } from "./wires";

const command: Command = {
  id: "remove_wire",
  title: "commands.remove_wire",
  group: "edit.group",
  enabled: () => targetWire() !== null,
  run() {
    const [at, wire] = [here(), targetWire()];
    if (at !== null && wire !== null) apply("commands.remove_wire", disconnect(at.scopeId, wire));
  },
};
export default command;
