import { saveActive } from "../documents/actions";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const save: Command = {
  id: "save",
  title: "documents.save",
  group: "documents.group",
  keys: ["Mod+S"],
  whileTyping: true,
  enabled: () => activeDocument() !== undefined,
  run: saveActive,
};
export default save;
