import type { Command } from "./command";
import { alignSelection, hasSeveral } from "./aligning";

const command: Command = {
  id: "align_left", title: "edit.align_left", group: "edit.arrange",
  enabled: () => hasSeveral(2),
  run: () => alignSelection("left", "edit.align_left"),
};
export default command;
