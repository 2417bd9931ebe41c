import { activeDocument, useDocuments } from "../state/documents";
import type { Command } from "./command";

const command: Command = {
  id: "leave_subgraph",
  title: "edit.leave_subgraph",
  group: "edit.subgraphs",
  keys: ["Mod+ArrowUp"],
  enabled: () => (activeDocument()?.path.length ?? 0) > 0,
  run() {
    const path = activeDocument()?.path ?? [];
    useDocuments.getState().enter(path.slice(0, -1));
    const left = path.at(-1);
    if (left !== undefined) useDocuments.getState().select([left]);
  },
};
export default command;
