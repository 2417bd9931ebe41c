import { stepTab } from "../documents/actions";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";

const previous_document: Command = {
  id: "previous_document",
  title: "documents.previous_tab",
  group: "documents.group",
  keys: ["Alt+PageUp"],
  enabled: () => useDocuments.getState().open.length > 1,
  run: () => stepTab(-1),
};
export default previous_document;
