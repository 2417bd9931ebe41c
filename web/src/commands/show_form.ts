import { useFormView } from "../state/form";
import type { Command } from "./command";

const command: Command = {
  id: "show_form",
  title: "gallery.command_form",
  group: "gallery.group",
  run: () => useFormView.getState().setFull(!useFormView.getState().isFull),
};
export default command;
