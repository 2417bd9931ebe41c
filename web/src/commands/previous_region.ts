import type { Command } from "./command";
import { goToRegion } from "./regions";

const command: Command = {
  id: "previous_region", title: "commands.previous_region", group: "commands.group", keys: ["Shift+F6"], whileTyping: true, hidden: true,
  run: () => goToRegion(-1),
};
export default command;
