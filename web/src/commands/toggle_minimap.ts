import { usePreferences } from "../state/preferences";
import type { Command } from "./command";

const command: Command = {
  id: "toggle_minimap",
  title: "canvas.toggleMinimap",
  group: "canvas.viewGroup",
  keys: ["Shift+M"],
  run: () => usePreferences.getState().set({ minimap: !usePreferences.getState().minimap }),
};
export default command;
