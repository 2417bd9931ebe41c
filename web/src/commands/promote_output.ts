import { selectionPoint } from "../menus/place";
import { useMenu } from "../state/menu";
import type { Command } from "./command";
import { here } from "./here";
import { namableOutputs, promoteOutput } from "./promoting";

const namable = (): readonly string[] => {
  const at = here();
  return at === null ? [] : at.nodes.flatMap((id) => namableOutputs(at, id));
};

const command: Command = {
  id: "promote_output",
  title: "edit.promote_output",
  group: "edit.nodes",
  enabled: () => namable().length > 0,
  run() {
    const [first, ...others] = namable();
    if (first !== undefined && others.length === 0) promoteOutput(first);
    else useMenu.setState({ open: { at: selectionPoint(), target: { kind: "outputs" } } });
  },
};
export default command;
