import { startKeyboardLink } from "../canvas/keyboard_link";
import type { Command } from "./command";
import { targetPort } from "./wires";

const command: Command = {
  id: "connect_port",
  title: "commands.connect_port",
  group: "edit.group",
  hidden: true,
  enabled: () => targetPort() !== null,
  run() {
    const port = targetPort();
    if (port !== null) startKeyboardLink(port);
  },
};
export default command;
