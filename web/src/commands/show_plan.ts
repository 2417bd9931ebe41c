import { useLayout } from "../state/layout";
import type { Command } from "./command";

const show: Command = {
  id: "show_plan",
  title: "run.command_plan",
  group: "run.group",
  run: () => useLayout.getState().toggle("right", "plan"),
};
export default show;
