import { openCommands } from "../state/palette";
import type { Command } from "./command";

const command: Command = {
  id: "show_commands",
  title: "commands.show_commands",
  group: "commands.group",
  keys: ["Mod+K", "F1"],
  whileTyping: true,
  hidden: true,
  run: openCommands,
};
export default command;
