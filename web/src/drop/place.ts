/** Where in the document something new goes. */

import type { NodeType } from "../model/catalogue";
import { type ScopeId, type WorkflowDocument, emptyDocument, scopeOf } from "../model/document";
import { measure } from "../model/measure";
import { type Box, roomFor } from "../model/places";
import { typeOf } from "../model/ports";
import type { Point } from "../state/camera";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";

/** A node is put under the pointer by its title. */
const HANDLE = 16;

/** An open document, and the scope of it that is shown. */
export interface Place {
  readonly id: string;
  readonly scope: ScopeId;
  readonly document: WorkflowDocument;
}

/** The document that is shown, or the one named as long as it is open; one is opened if none is. */
export function shownScope(id: string | undefined = undefined): Place {
  const { open, add } = useDocuments.getState();
  if (open.length === 0) add(emptyDocument());
  const one = open.find((candidate) => candidate.id === id) ?? activeDocument();
  if (one === undefined) throw new Error("a document was just opened");
  const { document } = one.history;
  return { id: one.id, document, scope: scopeAt(document, one.path) };
}

/** Where a new node of this type goes, near the place wanted (its middle), so that it covers no other. */
export function freePlace(type: NodeType, wanted: Point, { document, scope }: Place = shownScope()): Point {
  const { catalogue } = useCatalogue.getState();
  const { nodes, view } = scopeOf(document, scope);
  const size = measure(type, { type: type.id, inputs: {} }, undefined);
  const taken = Object.entries(nodes).map(([id, node]): Box => {
    const { x = 0, y = 0 } = view?.nodes?.[id] ?? {};
    const { width, height } = measure(typeOf(document, catalogue, node.type), node, view?.nodes?.[id]);
    return { x, y, width, height };
  });
  const { x, y } = roomFor({ x: wanted.x - size.width / 2, y: wanted.y - HANDLE, width: size.width, height: size.height }, taken);
  return { x, y };
}
