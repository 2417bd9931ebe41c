import type { Command } from "./command";
import { goToRegion } from "./regions";

const command: Command = {
  id: "next_region", title: "commands.next_region", group: "commands.group", keys: ["F6"], whileTyping: true, hidden: true,
  run: () => goToRegion(1),
};
export default command;
