import { viewOf } from "../model/view";
import { useDocuments } from "../state/documents";
import type { Command } from "./command";
import { here } from "./here";

const command: Command = {
  id: "select_all",
  title: "edit.select_all",
  group: "edit.selection",
  keys: ["Mod+A"],
  enabled: () => here() !== null,
  run() {
    const at = here();
    if (at === null) return;
    const { frames, notes } = viewOf(at.scope);
    const boxes = [...frames.map((frame) => `frame:${frame.id}`), ...notes.map((note) => `note:${note.id}`)];
    useDocuments.getState().select([...Object.keys(at.scope.nodes), ...boxes]);
  },
};
export default command;
