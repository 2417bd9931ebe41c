import { useLayout } from "../state/layout";
import type { Command } from "./command";

const show: Command = {
  id: "show_queue",
  title: "run.command_queue",
  group: "run.group",
  run: () => useLayout.getState().toggle("right", "queue"),
};
export default show;
