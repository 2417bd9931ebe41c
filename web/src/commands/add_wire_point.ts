import { GRID, nearest, snapped } from "../canvas/geometry";
import { currentScene } from "../canvas/linking";
import { announce, chooseWires, useLocal } from "../canvas/local";
import { setWirePoints } from "../model/edit";
import { useDocuments } from "../state/documents";
import { menuTarget } from "../state/menu";
import { t } from "../texts";
import type { Command } from "./command";
import { focusTheCanvas } from "./focus";
import { apply } from "./here";
import { targetWire } from "./wires";

/** A point that the wire is led through; the arrow keys move it then, Delete takes it out. */
const command: Command = {
  id: "add_wire_point",
  title: "commands.add_wire_point",
  group: "edit.group",
  hidden: true,
  enabled: () => targetWire() !== null,
  run() {
    const [scene, to, target] = [currentScene(), targetWire(), menuTarget()];
    const wire = scene === null || to === null ? undefined : scene.wires.get(to);
    if (scene === null || wire === undefined) return;
    const middle = { x: (wire.start.x + wire.end.x) / 2, y: (wire.start.y + wire.end.y) / 2 - (wire.points.length === 0 ? 0 : GRID) };
    const at = target?.kind === "wire" && target.at !== undefined ? target.at : middle;
    const index = Math.min(nearest(wire.curves, at).index, wire.points.length);
    const points = wire.points.map(({ x, y }) => [x, y] as const).toSpliced(index, 0, [snapped(at.x), snapped(at.y)]);
    apply("canvas.rerouted", setWirePoints(scene.scope, wire.to, points));
    useDocuments.getState().select([]);
    chooseWires([wire.to]);
    useLocal.setState({ point: { to: wire.to, index } });
    requestAnimationFrame(focusTheCanvas); // after the menu has given the focus back
    announce(t("commands.said_point"));
  },
};
export default command;
