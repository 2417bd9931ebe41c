import { importFiles } from "../documents/actions";
import type { Command } from "./command";

const import_document: Command = {
  id: "import_document",
  title: "documents.import",
  group: "documents.group",
  keys: ["Mod+O"],
  run: importFiles,
};
export default import_document;
