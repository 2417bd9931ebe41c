import { disconnect } from "../model/edit";
import type { Command } from "./command";
import { apply, here } from "./here";
import { targetEnds } from "./wires";

const command: Command = {
  id: "remove_wires",
  title: "commands.remove_wires",
  group: "edit.group",
  hidden: true,
  enabled: () => targetEnds().length > 0,
  run() {
    const [at, ends] = [here(), targetEnds()];
    if (at === null || ends.length === 0) return;
    apply("commands.remove_wires", (document) => ends.reduce((now, to) => disconnect(at.scopeId, to)(now), document));
  },
};
export default command;
