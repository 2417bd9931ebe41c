import { descendants } from "../model/graph";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";
import { chosenNodes, hasNodes, here } from "./here";

const command: Command = {
  id: "select_downstream",
  title: "edit.select_downstream",
  group: "edit.selection",
  keys: ["Mod+Shift+ArrowRight"],
  enabled: hasNodes,
  run() {
    const at = here();
    if (at === null) return;
    const nodes = chosenNodes(at);
    useDocuments.getState().select([...at.items, ...nodes, ...descendants(at.scope, nodes)]);
  },
};
export default command;
