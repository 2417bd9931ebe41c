import { addNote, freshBoxId } from "../model/edit";
import { useDocuments } from "../state/documents";
import { menuTarget } from "../state/menu";
import { pointed } from "../state/pointer";
import type { Command } from "./command";
import { apply, here } from "./here";

const command: Command = {
  id: "add_note",
  title: "edit.add_note",
  group: "edit.group",
  keys: ["N"],
  enabled: () => here() !== null,
  run() {
    const at = here();
    if (at === null) return;
    const target = menuTarget();
    const { x, y } = target?.kind === "canvas" && target.at !== undefined ? target.at : pointed();
    const id = freshBoxId(at.scope, "notes");
    apply("edit.add_note", addNote(at.scopeId, { id, text: "", x, y, width: 240, height: 120 }));
    useDocuments.getState().select([`note:${id}`]);
    write(`note:${id}`);
  },
};
export default command;

const FRAMES = 20;

/** Let its text be typed at once, as soon as it is drawn; from afar it never is. */
function write(item: string, frames = FRAMES): void {
  const text = document.querySelector<HTMLElement>(`[data-id="${item}"] [data-widget]`);
  if (text !== null) text.click();
  else if (frames > 0) requestAnimationFrame(() => write(item, frames - 1));
}
