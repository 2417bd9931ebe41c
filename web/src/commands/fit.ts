import { camera } from "../state/camera";
import type { Command } from "./command";

const command: Command = {
  id: "fit",
  title: "canvas.fit",
  group: "canvas.viewGroup",
  keys: ["Home", "Shift+1"],
  enabled: () => camera() !== null,
  run: () => camera()?.fit(),
};
export default command;
