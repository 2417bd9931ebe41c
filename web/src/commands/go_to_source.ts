import { linksOf } from "../model/graph";
import type { Command } from "./command";
import { here } from "./here";
import { goToPort, targetWire } from "./wires";

const command: Command = {
  id: "go_to_source",
  title: "commands.go_to_source",
  group: "edit.group",
  hidden: true,
  enabled: () => targetWire() !== null,
  run() {
    const [at, wire] = [here(), targetWire()];
    const link = at === null ? undefined : linksOf(at.scope).find(({ to }) => to === wire);
    if (link !== undefined) goToPort(link.from, "output");
  },
};
export default command;
