import { toggleMinimap } from "../state/camera";
import type { Command } from "./command";

const command: Command = {
  id: "toggle_minimap",
  title: "canvas.toggleMinimap",
  group: "canvas.viewGroup",
  keys: ["Shift+M"],
  run: toggleMinimap,
};
export default command;
