import { useLayout } from "../state/layout";
import type { Command } from "./command";

const show: Command = {
  id: "show_problems",
  title: "run.command_problems",
  group: "run.group",
  run: () => useLayout.getState().toggle("right", "problems"),
};
export default show;
