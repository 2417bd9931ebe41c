/** Giving what is selected a colour; null takes it away. */

import { setFrame, setNodeView, setNote, inTurn } from "../model/edit";
import { apply, here } from "./here";

export function colourSelection(color: string | null): void {
  const at = here();
  if (at === null) return;
  const part = { color: color ?? undefined };
  apply("edit.colour", inTurn(
    setNodeView(at.scopeId, at.nodes, part),
    ...at.frames.map((id) => setFrame(at.scopeId, id, part)),
    ...at.notes.map((id) => setNote(at.scopeId, id, part)),
  ));
}
