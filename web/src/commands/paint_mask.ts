import { fileUrl } from "../api/client";
import type { FileValue } from "../model/document";
import { pictureFor } from "../model/masks";
import { useCatalogue } from "../state/catalogue";
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

/** The picture that a mask for the selected node is painted on. */
function pictureOfSelected(): FileValue | undefined {
  const one = activeDocument();
  const [id] = one?.selection ?? [];
  if (one === undefined || id === undefined || one.selection.size !== 1) return undefined;
  const { document } = one.history;
  return pictureFor(document, scopeAt(document, one.path), useCatalogue.getState().catalogue, id);
}
