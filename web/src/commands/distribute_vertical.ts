import { distribute } from "../model/align";
import type { Command } from "./command";
import { hasSeveral, moveSelection } from "./aligning";

const command: Command = {
  id: "distribute_vertical", title: "edit.distribute_vertical", group: "edit.arrange",
  enabled: () => hasSeveral(3),
  run: () => moveSelection("edit.distribute_vertical", (boxes) => distribute(boxes, "vertical")),
};
export default command;
