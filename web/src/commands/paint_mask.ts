import { fileUrl } from "../api/client";
import { type FileValue, isFile, scopeOf } from "../model/document";
import { maskTargets, pictureFor } from "../model/masks";
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
    const before = maskOfSelected();
    const { openMaskPainter } = await painter();
    openMaskPainter({ url: fileUrl(file.sha256), name: file.file ?? file.sha256.slice(0, 12), ...(before !== undefined && { mask: fileUrl(before.sha256) }) });
  },
};
export default command;

type Question<T> = (...asked: Parameters<typeof pictureFor>) => T | undefined;

/** What is known of the selected node, if one is. */
function ofSelected<T>(ask: Question<T>): T | undefined {
  const one = activeDocument();
  const [id] = one?.selection ?? [];
  if (one === undefined || id === undefined || one.selection.size !== 1) return undefined;
  const { document } = one.history;
  return ask(document, scopeAt(document, one.path), useCatalogue.getState().catalogue, id);
}

/** The picture that a mask for the selected node is painted on. */
function pictureOfSelected(): FileValue | undefined {
  return ofSelected(pictureFor);
}

/** The mask that is there: the one that the painted one would replace. */
function maskOfSelected(): FileValue | undefined {
  return ofSelected((document, scope, catalogue, id) => {
    const best = maskTargets(document, scope, catalogue, id)[0];
    const value = best?.kind === "file" ? scopeOf(document, scope).nodes[best.node]?.inputs[best.port] : undefined;
    return isFile(value) ? value : undefined;
  });
}
