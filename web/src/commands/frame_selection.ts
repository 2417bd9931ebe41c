import { addFrame, freshBoxId } from "../model/edit";
import { newId, useDocuments } from "../state/documents";
import { t } from "../texts";
import type { Command } from "./command";
import { apply, around, boxOf, hasItems, here } from "./here";
import { renameItem } from "./rename";

const MARGIN = 24;
/** Of the title. */
const HEAD = 40;

const command: Command = {
  id: "frame_selection",
  title: "edit.frame_selection",
  group: "edit.group",
  keys: ["Mod+G"],
  enabled: hasItems,
  run() {
    const at = here();
    const box = at === null ? null : around(at.items.map((item) => boxOf(at, item)));
    if (at === null || box === null) return;
    const id = freshBoxId(at.scope, "frames");
    const gesture = newId();
    apply("edit.frame_selection", addFrame(at.scopeId, {
      id, title: t("edit.new_frame"),
      x: box.x - MARGIN, y: box.y - HEAD - MARGIN / 2, width: box.width + 2 * MARGIN, height: box.height + HEAD + 1.5 * MARGIN,
    }), gesture);
    useDocuments.getState().select([`frame:${id}`]);
    void renameItem(`frame:${id}`, gesture);
  },
};
export default command;
