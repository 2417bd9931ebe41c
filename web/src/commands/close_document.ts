import { closeTab } from "../documents/actions";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const close_document: Command = {
  id: "close_document",
  title: "documents.close_command",
  group: "documents.group",
  keys: ["Alt+W"],
  enabled: () => activeDocument() !== undefined,
  run: () => closeTab(activeDocument()?.id ?? ""),
};
export default close_document;
