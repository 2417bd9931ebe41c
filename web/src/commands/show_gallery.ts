import { useLayout } from "../state/layout";
import type { Command } from "./command";

const command: Command = {
  id: "show_gallery",
  title: "gallery.command_gallery",
  group: "gallery.group",
  run: () => useLayout.getState().toggle("right", "gallery"),
};
export default command;
