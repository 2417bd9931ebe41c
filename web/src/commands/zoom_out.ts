import { camera } from "../state/camera";
import type { Command } from "./command";

const command: Command = {
  id: "zoom_out",
  title: "canvas.zoomOut",
  group: "canvas.viewGroup",
  keys: ["Mod+-"],
  enabled: () => camera() !== null,
  run: () => camera()?.zoomTo((camera()?.zoom() ?? 1) / 1.25),
};
export default command;
