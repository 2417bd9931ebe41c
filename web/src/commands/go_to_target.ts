import { menuTarget } from "../state/menu";
import type { Command } from "./command";
import { goToPort, targetEnds } from "./wires";

/** Of several wires the first; their inputs lead back, and from there Tab goes on. */
const command: Command = {
  id: "go_to_target",
  title: "commands.go_to_target",
  group: "edit.group",
  hidden: true,
  enabled: () => end() !== undefined,
  run() {
    const to = end();
    if (to !== undefined) goToPort(to, "input");
  },
};
export default command;

function end(): string | undefined {
  const target = menuTarget();
  return target?.kind === "wire" ? target.to : targetEnds()[0];
}
