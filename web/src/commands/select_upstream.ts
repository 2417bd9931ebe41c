import { ancestors } from "../model/graph";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";
import { chosenNodes, hasNodes, here } from "./here";

const command: Command = {
  id: "select_upstream",
  title: "edit.select_upstream",
  group: "edit.selection",
  keys: ["Mod+Shift+ArrowLeft"],
  enabled: hasNodes,
  run() {
    const at = here();
    if (at === null) return;
    const nodes = chosenNodes(at);
    useDocuments.getState().select([...at.items, ...nodes, ...ancestors(at.scope, nodes)]);
  },
};
export default command;
