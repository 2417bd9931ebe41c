import type { Command } from "./command";
import { alignSelection, hasSeveral } from "./aligning";

const command: Command = {
  id: "align_top", title: "edit.align_top", group: "edit.arrange",
  enabled: () => hasSeveral(2),
  run: () => alignSelection("top", "edit.align_top"),
};
export default command;
