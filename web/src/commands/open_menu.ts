import { selectionPoint } from "../menus/place";
import { type OpenMenu, openContextMenu, portOf } from "../state/menu";
import type { Command } from "./command";
import { here } from "./here";

const command: Command = {
  id: "open_menu",
  title: "commands.open_menu",
  group: "commands.group",
  keys: ["Shift+F10", "ContextMenu"],
  hidden: true,
  enabled: () => here() !== null,
  run() {
    const at = here();
    if (at === null) return;
    const port = focusedPort();
    if (port !== null) return openContextMenu(port);
    const [node, frame, note] = [at.nodes[0], at.frames[0], at.notes[0]];
    const target =
      node !== undefined ? { kind: "node" as const, id: node }
      : frame !== undefined ? { kind: "frame" as const, id: frame }
      : note !== undefined ? { kind: "note" as const, id: note }
      : { kind: "canvas" as const };
    openContextMenu({ at: selectionPoint(), target });
  },
};
export default command;

function focusedPort(): OpenMenu | null {
  const element = document.activeElement;
  const target = element === null ? null : portOf(element);
  if (element === null || target === null) return null;
  const { left, bottom } = element.getBoundingClientRect();
  return { at: { x: left, y: bottom + 4 }, target };
}
