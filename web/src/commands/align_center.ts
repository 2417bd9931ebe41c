import type { Command } from "./command";
import { alignSelection, hasSeveral } from "./aligning";

const command: Command = {
  id: "align_center", title: "edit.align_center", group: "edit.arrange",
  enabled: () => hasSeveral(2),
  run: () => alignSelection("center", "edit.align_center"),
};
export default command;
