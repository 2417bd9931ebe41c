/** What copying and subgraphs share: a part of a scope's looks, and ids of subgraphs. */

import { type Scope, type View, type WorkflowDocument } from "./document";
import { freshName } from "./interface";
import { membersOf, objectOf } from "./members";
import { viewOf } from "./view";

/** An id that no subgraph of the document has. */
export function freshSubgraphId(document: WorkflowDocument, wanted: string): string {
  return freshName(wanted, (name) => Object.hasOwn(document.subgraphs ?? {}, name));
}

/** The looks of some of a scope's nodes, of wires into these ports, and of these frames and notes. */
export function partOfView(
  scope: Scope, nodes: ReadonlySet<string>, isWireIn: (port: string) => boolean, frames: ReadonlySet<string>, notes: ReadonlySet<string>,
): { view?: View } {
  const view = viewOf(scope);
  const part: View = {
    nodes: objectOf(membersOf(view.nodes).filter(([name]) => nodes.has(name))),
    frames: view.frames.filter((frame) => frames.has(frame.id)),
    notes: view.notes.filter((note) => notes.has(note.id)),
    wires: objectOf(membersOf(view.wires).filter(([port]) => isWireIn(port))),
  };
  const said = Object.entries(part).filter(([, members]) => Object.keys(members as object).length > 0); // a view holds objects only
  return said.length === 0 ? {} : { view: Object.fromEntries(said) };
}
