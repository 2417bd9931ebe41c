import { selectionPoint } from "../menus/place";
import { useMenu } from "../state/menu";
import type { Command } from "./command";
import { here } from "./here";
import { namableInputs, promoteInput } from "./promoting";

const namable = (): readonly string[] => {
  const at = here();
  return at === null ? [] : at.nodes.flatMap((id) => namableInputs(at, id));
};

const command: Command = {
  id: "promote_input",
  title: "edit.promote_input",
  group: "edit.nodes",
  enabled: () => namable().length > 0,
  run() {
    const [first, ...others] = namable();
    if (first !== undefined && others.length === 0) promoteInput(first);
    else useMenu.setState({ open: { at: selectionPoint(), target: { kind: "inputs" } } });
  },
};
export default command;
