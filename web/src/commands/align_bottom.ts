import type { Command } from "./command";
import { alignSelection, hasSeveral } from "./aligning";

const command: Command = {
  id: "align_bottom", title: "edit.align_bottom", group: "edit.arrange",
  enabled: () => hasSeveral(2),
  run: () => alignSelection("bottom", "edit.align_bottom"),
};
export default command;
