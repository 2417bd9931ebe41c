import { useDocuments } from "../state/documents";
import { t } from "../texts";
import { askText } from "../ui/ask";
import { onceMore } from "../ui/later";
import type { Command } from "./command";
import { applyThere, chosenNodes, hasNodes, here } from "./here";

const subgraphs = onceMore(() => import("../model/subgraphs"));

const command: Command = {
  id: "make_subgraph",
  title: "edit.make_subgraph",
  group: "edit.subgraphs",
  keys: ["Mod+Shift+G"],
  enabled: hasNodes,
  async run() {
    const at = here();
    if (at === null) return;
    const name = await askText({ title: t("edit.make_subgraph"), label: t("edit.subgraph_name"), value: t("edit.new_subgraph"), hint: t("edit.name_hint") });
    if (name === null) return;
    const { makeSubgraph } = await subgraphs();
    if (!applyThere(at, "edit.make_subgraph", makeSubgraph(at.scopeId, chosenNodes(at), name))) return;
    // The instance is the node that was not there before.
    useDocuments.getState().select(Object.keys(here()?.scope.nodes ?? {}).filter((id) => !Object.hasOwn(at.scope.nodes, id)));
  },
};
export default command;
