import { camera } from "../state/camera";
import type { Command } from "./command";

const command: Command = {
  id: "zoom_100",
  title: "canvas.zoom100",
  group: "canvas.viewGroup",
  keys: ["Mod+0"],
  enabled: () => camera() !== null,
  run: () => camera()?.zoomTo(1),
};
export default command;
