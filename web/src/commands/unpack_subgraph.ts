import { useDocuments } from "../state/documents";
import { onceMore } from "../ui/later";
import type { Command } from "./command";
import { applyThere, here } from "./here";

const subgraphs = onceMore(() => import("../model/subgraphs"));

/** The selected instances of subgraphs. */
function instances(): readonly string[] {
  const at = here();
  if (at === null) return [];
  return at.nodes.filter((id) => at.document.subgraphs?.[at.scope.nodes[id]?.type.slice(1) ?? ""] !== undefined && at.scope.nodes[id]?.type.startsWith("#"));
}

const command: Command = {
  id: "unpack_subgraph",
  title: "edit.unpack_subgraph",
  group: "edit.subgraphs",
  keys: ["Mod+Shift+U"],
  enabled: () => instances().length > 0,
  async run() {
    const at = here();
    if (at === null) return;
    const ids = instances();
    const { unpack } = await subgraphs();
    if (!applyThere(at, "edit.unpack_subgraph", (document) => ids.reduce((before, id) => unpack(at.scopeId, id)(before), document))) return;
    useDocuments.getState().select(Object.keys(here()?.scope.nodes ?? {}).filter((id) => !Object.hasOwn(at.scope.nodes, id)));
  },
};
export default command;
