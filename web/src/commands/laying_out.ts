/** Laying out nodes along their links: found in a worker, put in place as one step of undo. */

import { moveItems } from "../model/edit";
import { linksOf } from "../model/graph";
import { arrange } from "../model/layout";
import { split } from "../model/document";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";
import type { TextKey } from "../texts";
import { around, boxOf, here } from "./here";

/** Lay out these nodes; their upper left corner stays where it is. */
export async function layOut(ids: readonly string[], title: TextKey): Promise<void> {
  const [at, one] = [here(), activeDocument()];
  if (at === null || one === undefined) return;
  const boxes = ids.map((id) => ({ id, ...boxOf(at, id) }));
  const corner = around(boxes);
  if (corner === null) return;
  const wanted = new Set(ids);
  const links = linksOf(at.scope)
    .map(({ from, to }) => ({ from: split(from).node, to: split(to).node }))
    .filter(({ from, to }) => wanted.has(from) && wanted.has(to));
  const places = await arrange({ nodes: boxes.map(({ id, width, height }) => ({ id, width, height })), links, at: { x: corner.x, y: corner.y } });
  // The document may have changed meanwhile: nodes that are gone are passed over, and so is a scope that is.
  const now = useDocuments.getState().open.find((other) => other.id === one.id);
  if (now === undefined || scopeAt(now.history.document, one.path) !== at.scopeId) return;
  useDocuments.getState().apply(title, moveItems(at.scopeId, places), null, one.id);
}
