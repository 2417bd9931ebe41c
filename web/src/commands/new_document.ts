import { emptyDocument } from "../model/document";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";

const command: Command = {
  id: "new_document",
  title: "commands.new_document",
  group: "commands.documents",
  keys: ["Alt+N"],
  run: () => void useDocuments.getState().add(emptyDocument()),
};
export default command;
