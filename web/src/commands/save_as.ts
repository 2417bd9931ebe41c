import { saveActiveAs } from "../documents/actions";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const save_as: Command = {
  id: "save_as",
  title: "documents.save_as",
  group: "documents.group",
  keys: ["Mod+Shift+S"],
  whileTyping: true,
  enabled: () => activeDocument() !== undefined,
  run: saveActiveAs,
};
export default save_as;
