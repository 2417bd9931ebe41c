import type { Command } from "./command";
import { alignSelection, hasSeveral } from "./aligning";

const command: Command = {
  id: "align_right", title: "edit.align_right", group: "edit.arrange",
  enabled: () => hasSeveral(2),
  run: () => alignSelection("right", "edit.align_right"),
};
export default command;
