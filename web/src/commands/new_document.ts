import { newDocument } from "../documents/actions";
import type { Command } from "./command";

const new_document: Command = {
  id: "new_document",
  title: "documents.new",
  group: "documents.group",
  keys: ["Alt+N"],
  run: newDocument,
};
export default new_document;
