import { fileUrl } from "../api/client";
import { type FileValue, isFile, scopeOf } from "../model/document";
import { activeDocument, scopeAt } from "../state/documents";
import { onceMore } from "../ui/later";
import type { Command } from "./command";

const painter = onceMore(() => import("../painter/MaskPainter"));

const command: Command = {
  id: "paint_mask",
  title: "gallery.command_mask",
  group: "gallery.group",
  menus: ["node"],
  enabled: () => pictureOfSelected() !== undefined,
  async run() {
    const file = pictureOfSelected();
    if (file === undefined) return;
    const { openMaskPainter } = await painter();
    openMaskPainter({ url: fileUrl(file.sha256), name: file.file ?? file.sha256.slice(0, 12) });
  },
};
export default command;

/** The file that the selected node opens. */
function pictureOfSelected(): FileValue | undefined {
  const one = activeDocument();
  const [id] = one?.selection ?? [];
  if (one === undefined || id === undefined || one.selection.size !== 1) return undefined;
  const { document } = one.history;
  const node = scopeOf(document, scopeAt(document, one.path)).nodes[id];
  return Object.values(node?.inputs ?? {}).find(isFile);
}
