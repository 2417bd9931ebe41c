import { useLayout } from "../state/layout";
import type { Command } from "./command";

const command: Command = {
  id: "show_files",
  title: "gallery.command_files",
  group: "gallery.group",
  run: () => useLayout.getState().toggle("right", "files"),
};
export default command;
