import { removeItems } from "../model/edit";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";
import { apply, hasItems, here } from "./here";

const command: Command = {
  id: "delete_items",
  title: "edit.delete",
  group: "edit.group",
  keys: ["Delete", "Backspace"],
  enabled: hasItems,
  run() {
    const at = here();
    if (at === null) return;
    apply("edit.delete", removeItems(at.scopeId, at.items));
    useDocuments.getState().select([]);
  },
};
export default command;
