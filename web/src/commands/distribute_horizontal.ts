import { distribute } from "../model/align";
import type { Command } from "./command";
import { hasSeveral, moveSelection } from "./aligning";

const command: Command = {
  id: "distribute_horizontal", title: "edit.distribute_horizontal", group: "edit.arrange",
  enabled: () => hasSeveral(3),
  run: () => moveSelection("edit.distribute_horizontal", (boxes) => distribute(boxes, "horizontal")),
};
export default command;
