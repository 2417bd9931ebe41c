import { useLayout } from "../state/layout";
import type { Command } from "./command";

const command: Command = {
  id: "inspector",
  title: "commands.inspector",
  group: "commands.group",
  keys: ["I"],
  run: () => useLayout.getState().toggle("right", "inspector"),
};
export default command;
