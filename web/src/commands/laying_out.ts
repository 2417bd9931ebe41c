/** Laying out nodes along their links: found in a worker, put in place as one step of undo. */

import { moveItems, setWirePoints } from "../model/edit";
import { linksOf } from "../model/graph";
import { arrange } from "../model/layout";
import { roomBelow } from "../model/measure";
import { typeOf } from "../model/ports";
import { viewOf } from "../model/view";
import { split } from "../model/document";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";
import type { TextKey } from "../texts";
import { type Box, type Here, around, boxOf, here } from "./here";

/** With room for the picture below it. */
function roomyBox(at: Here, id: string): Box {
  const box = boxOf(at, id);
  const node = at.scope.nodes[id];
  const type = node === undefined ? undefined : typeOf(at.document, at.catalogue, node.type);
  return { ...box, height: box.height + (type === undefined ? 0 : roomBelow(type, type, viewOf(at.scope).nodes[id])) };
}

/** Lay out these nodes; their upper left corner stays where it is. */
export async function layOut(ids: readonly string[], title: TextKey): Promise<void> {
  const [at, one] = [here(), activeDocument()];
  if (at === null || one === undefined) return;
  const boxes = ids.map((id) => ({ id, ...roomyBox(at, id) }));
  const corner = around(boxes);
  if (corner === null) return;
  const wanted = new Set(ids);
  const links = linksOf(at.scope)
    .map(({ from, to }) => ({ from: split(from).node, to: split(to).node }))
    .filter(({ from, to }) => wanted.has(from) && wanted.has(to));
  const places = await arrange({ nodes: boxes.map(({ id, width, height }) => ({ id, width, height, isFolded: viewOf(at.scope).nodes[id]?.collapsed === true })), links, at: { x: corner.x, y: corner.y } });
  // The document may have changed meanwhile: nodes that are gone are passed over, and so is a scope that is.
  const now = useDocuments.getState().open.find((other) => other.id === one.id);
  if (now === undefined || scopeAt(now.history.document, one.path) !== at.scopeId) return;
  // The points of a wire led it between the old places.
  const straight = linksOf(at.scope).filter(({ from, to }) => wanted.has(split(from).node) && wanted.has(split(to).node) && viewOf(at.scope).wires[to] !== undefined)
    .map(({ to }) => setWirePoints(at.scopeId, to, []));
  const edits = [moveItems(at.scopeId, places), ...straight];
  useDocuments.getState().apply(title, (document) => edits.reduce((edited, edit) => edit(edited), document), null, one.id);
}
