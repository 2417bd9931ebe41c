import { activeDocument, useDocuments } from "../state/documents";
import type { Command } from "./command";

const undo: Command = {
  id: "undo",
  title: "edit.undo",
  group: "edit.group",
  keys: ["Mod+Z"],
  enabled: () => (activeDocument()?.history.past.length ?? 0) > 0,
  run: () => useDocuments.getState().undo(),
};
export default undo;
