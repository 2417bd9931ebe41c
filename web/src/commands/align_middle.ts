import type { Command } from "./command";
import { alignSelection, hasSeveral } from "./aligning";

const command: Command = {
  id: "align_middle", title: "edit.align_middle", group: "edit.arrange",
  enabled: () => hasSeveral(2),
  run: () => alignSelection("middle", "edit.align_middle"),
};
export default command;
