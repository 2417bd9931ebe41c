import type { Command } from "./command";
import { chosenNodes, here } from "./here";
import { layOut } from "./laying_out";

const chosen = (): readonly string[] => {
  const at = here();
  return at === null ? [] : chosenNodes(at);
};

const command: Command = {
  id: "layout_selection",
  title: "edit.layout_selection",
  group: "edit.arrange",
  keys: ["Shift+F"],
  enabled: () => chosen().length > 1,
  run: () => layOut(chosen(), "edit.layout_selection"),
};
export default command;
