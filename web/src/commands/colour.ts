import { selectionPoint } from "../menus/place";
import { useMenu } from "../state/menu";
import type { Command } from "./command";
import { hasItems } from "./here";

const command: Command = {
  id: "colour",
  title: "edit.colour",
  group: "edit.nodes",
  keys: ["C"],
  enabled: hasItems,
  run: () => useMenu.setState({ open: { at: selectionPoint(), target: { kind: "colours" } } }),
};
export default command;
