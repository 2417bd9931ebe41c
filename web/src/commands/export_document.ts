import { exportActive } from "../documents/actions";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const export_document: Command = {
  id: "export_document",
  title: "documents.export",
  group: "documents.group",
  keys: ["Mod+E"],
  enabled: () => activeDocument() !== undefined,
  run: exportActive,
};
export default export_document;
