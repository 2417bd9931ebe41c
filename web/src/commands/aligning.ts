/** Aligning and distributing: what commands of both do. A frame goes with what lies in it. */

import { type Alignment, type Box, type Places, align } from "../model/align";
import { moveItems } from "../model/edit";
import { viewOf } from "../model/view";
import type { TextKey } from "../texts";
import { type Here, apply, boxOf, here, nodesIn } from "./here";

export function hasSeveral(least: number): boolean {
  const at = here();
  return at !== null && movable(at).length >= least;
}

/** The selected items, without nodes that go with a selected frame. */
function movable(at: Here): readonly string[] {
  const framed = new Set(viewOf(at.scope).frames.filter(({ id }) => at.frames.includes(id)).flatMap((frame) => nodesIn(at, frame)));
  return at.items.filter((item) => !framed.has(item));
}

export function alignSelection(how: Alignment, title: TextKey): void {
  moveSelection(title, (boxes) => align(boxes, how));
}

/** Move the selected items to the places that are found for their boxes. */
export function moveSelection(title: TextKey, places: (boxes: readonly Box[]) => Places): void {
  const at = here();
  if (at === null) return;
  const found = places(movable(at).map((id) => ({ id, ...boxOf(at, id) })));
  apply(title, moveItems(at.scopeId, { ...carried(at, found), ...found }));
}

/** Where the nodes in moved frames go. */
function carried(at: Here, places: Places): Places {
  const moved: { [id: string]: { x: number; y: number } } = {};
  for (const frame of viewOf(at.scope).frames) {
    const to = places[`frame:${frame.id}`];
    if (to === undefined) continue;
    for (const id of nodesIn(at, frame)) {
      const box = boxOf(at, id);
      moved[id] = { x: box.x + to.x - frame.x, y: box.y + to.y - frame.y };
    }
  }
  return moved;
}
