import { useLayout } from "../state/layout";
import type { Command } from "./command";

const command: Command = {
  id: "show_parameters",
  title: "gallery.command_parameters",
  group: "gallery.group",
  run: () => useLayout.getState().toggle("right", "parameters"),
};
export default command;
