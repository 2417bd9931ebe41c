import { removeItems } from "../model/edit";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";
import { apply, here } from "./here";

/** What a deleted node was linked to is linked again, past it, where the types fit. */
const command: Command = {
  id: "delete_and_heal",
  title: "edit.delete_and_heal",
  group: "edit.group",
  keys: ["Mod+Delete", "Mod+Backspace"],
  enabled: () => (here()?.nodes.length ?? 0) > 0,
  run() {
    const at = here();
    if (at === null) return;
    apply("edit.delete_and_heal", removeItems(at.scopeId, at.items, { heal: at.catalogue }));
    useDocuments.getState().select([]);
  },
};
export default command;
