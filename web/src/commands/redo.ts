import { activeDocument, useDocuments } from "../state/documents";
import type { Command } from "./command";

const redo: Command = {
  id: "redo",
  title: "edit.redo",
  group: "edit.group",
  keys: ["Mod+Shift+Z", "Mod+Y"],
  enabled: () => (activeDocument()?.history.future.length ?? 0) > 0,
  run: () => useDocuments.getState().redo(),
};
export default redo;
