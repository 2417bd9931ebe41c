import { useLayout } from "../state/layout";
import type { Command } from "./command";

const command: Command = {
  id: "settings",
  title: "commands.settings",
  group: "commands.group",
  keys: ["Mod+,"],
  whileTyping: true,
  run: () => useLayout.getState().toggle("left", "settings"),
};
export default command;
