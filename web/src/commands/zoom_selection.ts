import { camera } from "../state/camera";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const command: Command = {
  id: "zoom_selection",
  title: "canvas.zoomSelection",
  group: "canvas.viewGroup",
  keys: [".", "Shift+2"],
  enabled: () => camera() !== null && (activeDocument()?.selection.size ?? 0) > 0,
  run: () => camera()?.fit(activeDocument()?.selection ?? []),
};
export default command;
