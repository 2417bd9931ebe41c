import { activeDocument, useDocuments } from "../state/documents";
import type { Command } from "./command";
import { here } from "./here";

/** The one selected instance of a subgraph; null for anything else. */
function instance(): string | null {
  const at = here();
  const id = at?.nodes[0];
  if (at === null || id === undefined || at.items.length !== 1) return null;
  const type = at.scope.nodes[id]?.type ?? "";
  return type.startsWith("#") && at.document.subgraphs?.[type.slice(1)] !== undefined ? id : null;
}

const command: Command = {
  id: "enter_subgraph",
  title: "edit.enter_subgraph",
  group: "edit.subgraphs",
  keys: ["Enter", "Mod+ArrowDown"],
  enabled: () => instance() !== null,
  run() {
    const id = instance();
    if (id !== null) enterInstance(id);
  },
};
export default command;

/** Show the inside of an instance of a subgraph. */
export function enterInstance(id: string): void {
  const one = activeDocument();
  if (one !== undefined) useDocuments.getState().enter([...one.path, id]);
}
