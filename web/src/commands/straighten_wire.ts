import { currentScene } from "../canvas/linking";
import { setWirePoints } from "../model/edit";
import type { Command } from "./command";
import { apply } from "./here";
import { targetWire } from "./wires";

const command: Command = {
  id: "straighten_wire",
  title: "commands.straighten_wire",
  group: "edit.group",
  hidden: true,
  enabled: () => (currentScene()?.wires.get(targetWire() ?? "")?.points.length ?? 0) > 0,
  run() {
    const [scene, to] = [currentScene(), targetWire()];
    if (scene !== null && to !== null) apply("canvas.rerouted", setWirePoints(scene.scope, to, []));
  },
};
export default command;
