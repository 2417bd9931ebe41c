import { stepTab } from "../documents/actions";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";

const next_document: Command = {
  id: "next_document",
  title: "documents.next_tab",
  group: "documents.group",
  keys: ["Alt+PageDown"],
  enabled: () => useDocuments.getState().open.length > 1,
  run: () => stepTab(1),
};
export default next_document;
