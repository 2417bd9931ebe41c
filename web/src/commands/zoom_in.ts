import { camera } from "../state/camera";
import type { Command } from "./command";

const command: Command = {
  id: "zoom_in",
  title: "canvas.zoomIn",
  group: "canvas.viewGroup",
  keys: ["Mod+=", "Mod++"],
  enabled: () => camera() !== null,
  run: () => camera()?.zoomTo((camera()?.zoom() ?? 1) * 1.25),
};
export default command;
