/** What commands act on: the scope that is shown and what is selected in it. */

import type { Catalogue } from "../model/catalogue";
import { type Frame, type Scope, type ScopeId, type WorkflowDocument, scopeOf } from "../model/document";
import { itemOf } from "../model/edit";
import type { Edit } from "../model/history";
import { measure } from "../model/measure";
import { placesFor } from "../model/placing";
import { typeOf } from "../model/ports";
import { viewOf } from "../model/view";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";
import type { TextKey } from "../texts";

export interface Here {
  /** Of the open document. */
  readonly draft: string;
  readonly document: WorkflowDocument;
  readonly scopeId: ScopeId;
  readonly scope: Scope;
  readonly catalogue: Catalogue;
  /** Items that are selected and exist. */
  readonly items: readonly string[];
  /** Ids of the selected nodes. */
  readonly nodes: readonly string[];
  /** Ids of the selected frames. */
  readonly frames: readonly string[];
  readonly notes: readonly string[];
}

/** Null while no document is open. */
export function here(): Here | null {
  const one = activeDocument();
  if (one === undefined) return null;
  const { document } = one.history;
  const scopeId = scopeAt(document, one.path);
  const scope = scopeOf(document, scopeId);
  const { frames, notes } = viewOf(scope);
  const exists = (item: string): boolean => {
    const { kind, id } = itemOf(item);
    if (kind === "node") return Object.hasOwn(scope.nodes, id);
    return (kind === "frame" ? frames : notes).some((box) => box.id === id);
  };
  const items = [...one.selection].filter(exists);
  const of = (kind: "node" | "frame" | "note"): string[] => items.map(itemOf).filter((item) => item.kind === kind).map((item) => item.id);
  return {
    draft: one.id, document, scopeId, scope, catalogue: useCatalogue.getState().catalogue,
    items, nodes: of("node"), frames: of("frame"), notes: of("note"),
  };
}

/** The selected nodes and those that lie in selected frames. */
export function chosenNodes(at: Here): readonly string[] {
  const framed = viewOf(at.scope).frames.filter((frame) => at.frames.includes(frame.id)).flatMap((frame) => nodesIn(at, frame));
  return [...new Set([...at.nodes, ...framed])];
}

/** The nodes whose middle lies in the frame. */
export function nodesIn(at: Here, frame: Frame): readonly string[] {
  return Object.keys(at.scope.nodes).filter((id) => {
    const box = boxOf(at, id);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    return x >= frame.x && x <= frame.x + frame.width && y >= frame.y && y <= frame.y + frame.height;
  });
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Where an item is drawn. */
export function boxOf(at: Here, item: string): Box {
  const { kind, id } = itemOf(item);
  const { nodes, frames, notes } = viewOf(at.scope);
  if (kind !== "node") {
    const { x, y, width, height } = (kind === "frame" ? frames : notes).find((box) => box.id === id) ?? { x: 0, y: 0, width: 0, height: 0 };
    return { x, y, width, height };
  }
  const node = at.scope.nodes[id];
  const view = nodes[id];
  const size = node === undefined ? { width: 0, height: 0 } : measure(typeOf(at.document, at.catalogue, node.type), node, view);
  const place = placesFor(at.document, at.scopeId, at.catalogue)[id];
  return { x: view?.x ?? place?.x ?? 0, y: view?.y ?? place?.y ?? 0, width: size.width, height: size.height };
}

/** The box around all of them; null for none. */
export function around(boxes: readonly Box[]): Box | null {
  if (boxes.length === 0) return null;
  const [left, top] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const [right, bottom] = [Math.max(...boxes.map((box) => box.x + box.width)), Math.max(...boxes.map((box) => box.y + box.height))];
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** One step of undo, of the document that is shown. */
export function apply(title: TextKey, edit: Edit, gesture: string | null = null): void {
  useDocuments.getState().apply(title, edit, gesture);
}

/** The same after something was waited for: in the document that it was about, and if its scope is still there. True if it was done and is seen. */
export function applyThere(at: Here, title: TextKey, edit: Edit): boolean {
  const { open, active, apply: applyTo } = useDocuments.getState();
  const document = open.find((one) => one.id === at.draft)?.history.document;
  if (document === undefined || (at.scopeId !== "" && document.subgraphs?.[at.scopeId] === undefined)) return false;
  applyTo(title, edit, null, at.draft);
  return active === at.draft;
}

export function hasItems(): boolean {
  return (here()?.items.length ?? 0) > 0;
}

/** Whether a node is selected, or a frame with one in it. */
export function hasNodes(): boolean {
  const at = here();
  return at !== null && (at.nodes.length > 0 || chosenNodes(at).length > 0);
}
