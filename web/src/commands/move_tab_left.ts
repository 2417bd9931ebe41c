import { moveActive } from "../documents/actions";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";

const move_tab_left: Command = {
  id: "move_tab_left",
  title: "documents.move_tab_left",
  group: "documents.group",
  keys: ["Alt+Shift+PageUp"],
  enabled: () => useDocuments.getState().open.length > 1,
  run: () => moveActive(-1),
};
export default move_tab_left;
