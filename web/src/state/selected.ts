/** The run ids of the selected nodes of the active document. */

import { activeDocument, scopeAt } from "./documents";
import { scopeOf } from "../model/document";

export function selectedPaths(): string[] {
  const active = activeDocument();
  if (active === undefined) return [];
  const { nodes } = scopeOf(active.history.document, scopeAt(active.history.document, active.path));
  return [...active.selection].filter((id) => nodes[id] !== undefined).map((id) => [...active.path, id].join("/"));
}
