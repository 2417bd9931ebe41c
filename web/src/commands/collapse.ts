import { setNodeView } from "../model/edit";
import { nodeViewOf } from "../model/view";
import type { Command } from "./command";
import { apply, chosenNodes, hasNodes, here } from "./here";

const command: Command = {
  id: "collapse",
  title: "edit.collapse",
  group: "edit.nodes",
  keys: ["H", "Alt+C"],
  enabled: hasNodes,
  run() {
    const at = here();
    if (at === null) return;
    const nodes = chosenNodes(at);
    const areAll = nodes.every((id) => nodeViewOf(at.scope, id).collapsed === true);
    apply("edit.collapse", setNodeView(at.scopeId, nodes, { collapsed: areAll ? undefined : true }));
  },
};
export default command;
