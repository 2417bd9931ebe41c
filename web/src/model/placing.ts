/**
 * Places for nodes that have none: documents written by hand or by programs. Found anew from the document alone, and so
 * the same each time; they are written into it with the first edit, so that opening one changes nothing.
 */

import type { Catalogue } from "./catalogue";
import type { Places } from "./align";
import { layered } from "./columns";
import { type Scope, type ScopeId, type WorkflowDocument, scopeOf, split } from "./document";
import { moveItems } from "./edit";
import { linksOf } from "./graph";
import { measure, roomBelow } from "./measure";
import { portsOf } from "./ports";
import { withStacks } from "./stacks";
import { viewOf } from "./view";

const NONE: Places = {};
/** Between what has a place and what is placed below it. */
const GAP = 96;
const found = new WeakMap<Scope, { readonly catalogue: Catalogue; readonly places: Places }>();

/** Where the nodes without a place are shown; nothing for scopes in which all have one. */
export function placesFor(document: WorkflowDocument, scopeId: ScopeId, catalogue: Catalogue): Places {
  const scope = scopeOf(document, scopeId);
  const ids = unplaced(scope);
  if (ids.length === 0) return NONE;
  const known = found.get(scope);
  if (known?.catalogue === catalogue) return known.places;
  const view = viewOf(scope);
  const nodes = ids.map((id) => {
    const ports = portsOf(document, scopeId, catalogue, id);
    const { width, height } = measure(ports, scope.nodes[id] ?? { type: "", inputs: {} }, view.nodes[id]);
    return { id, width, height: height + roomBelow(ports, ports.type, view.nodes[id]), isFolded: view.nodes[id]?.collapsed === true };
  });
  const links = linksOf(scope).map(({ from, to }) => ({ from: split(from).node, to: split(to).node }));
  const places = withStacks(layered)({ nodes, links, at: cornerBelow(document, scopeId, catalogue) });
  found.set(scope, { catalogue, places });
  return places;
}

/** The document with the places written into it; the same document if all have one. */
export function withPlaces(document: WorkflowDocument, catalogue: Catalogue): WorkflowDocument {
  let full = document;
  for (const scopeId of ["", ...Object.keys(document.subgraphs ?? {})]) {
    const places = placesFor(document, scopeId, catalogue);
    if (Object.keys(places).length > 0) full = moveItems(scopeId, places)(full);
  }
  return full;
}

function unplaced(scope: Scope): readonly string[] {
  const { nodes } = viewOf(scope);
  return Object.keys(scope.nodes).filter((id) => nodes[id]?.x === undefined || nodes[id].y === undefined);
}

function cornerBelow(document: WorkflowDocument, scopeId: ScopeId, catalogue: Catalogue): { x: number; y: number } {
  const scope = scopeOf(document, scopeId);
  const { nodes, frames, notes } = viewOf(scope);
  const boxes = [...frames, ...notes].map(({ x, y, height }) => ({ x, bottom: y + height }));
  for (const [id, node] of Object.entries(scope.nodes)) {
    const view = nodes[id];
    if (view?.x === undefined || view.y === undefined) continue;
    boxes.push({ x: view.x, bottom: view.y + measure(portsOf(document, scopeId, catalogue, id), node, view).height });
  }
  if (boxes.length === 0) return { x: 0, y: 0 };
  return { x: Math.min(...boxes.map((box) => box.x)), y: Math.max(...boxes.map((box) => box.bottom)) + GAP };
}
