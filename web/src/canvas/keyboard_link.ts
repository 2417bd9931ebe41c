/** Connecting without a pointer: Enter on a port, arrows or Tab to a port that takes it, Enter to connect, Escape to leave. */

import type { PortEnd } from "../state/palette";
import { camera } from "../state/camera";
import { t } from "../texts";
import { aimAt, candidates, currentScene, endLink, linking, startLink, stopLink } from "./linking";
import { announce } from "./local";
import { portPoint } from "./scene";

let ends: readonly PortEnd[] = [];
let chosen = 0;

export function startKeyboardLink(from: PortEnd): void {
  const scene = currentScene();
  const at = scene === null ? undefined : portPoint(scene.items.get(from.node), from.port, from.side);
  if (scene === null || at === undefined) return;
  ends = candidates(scene, from);
  if (ends.length === 0) {
    announce(t("canvas.saidNothingFits", { port: `${from.node}.${from.port}` }));
    return;
  }
  startLink(from, at, "keyboard");
  choose(0);
  window.addEventListener("keydown", onKey, true);
  window.addEventListener("pointerdown", leave, true);
}

function choose(at: number): void {
  const scene = currentScene();
  chosen = (at + ends.length) % ends.length;
  const end = ends[chosen];
  if (scene === null || end === undefined) return;
  aimAt(scene, end);
  reveal();
  announce(t("canvas.saidCandidate", { port: end.port, node: end.node, at: chosen + 1, of: ends.length }));
}

/** Bring the aimed port into view. */
function reveal(): void {
  const view = camera();
  const aim = linking();
  if (view === null || aim === null) return;
  const bounds = view.bounds();
  const middle = view.middle();
  const [x, y] = [(aim.at.x - middle.x) * view.zoom(), (aim.at.y - middle.y) * view.zoom()];
  const [roomX, roomY] = [bounds.width / 2 - 60, bounds.height / 2 - 60];
  const over = (value: number, room: number): number => (value > room ? value - room : value < -room ? value + room : 0);
  const by = { x: over(x, roomX), y: over(y, roomY) };
  if (by.x !== 0 || by.y !== 0) view.panBy(by);
}

function onKey(event: KeyboardEvent): void {
  const scene = currentScene();
  if (scene === null || linking()?.by !== "keyboard") return release();
  event.preventDefault();
  event.stopPropagation();
  const isBack = event.key === "ArrowUp" || event.key === "ArrowLeft" || (event.key === "Tab" && event.shiftKey);
  if (isBack) choose(chosen - 1);
  else if (event.key === "ArrowDown" || event.key === "ArrowRight" || event.key === "Tab") choose(chosen + 1);
  else if (event.key === "Enter") {
    release();
    endLink(scene);
  } else if (event.key === "Escape") leave();
}

function leave(): void {
  release();
  stopLink();
  announce(t("canvas.saidCancelled"));
}

function release(): void {
  window.removeEventListener("keydown", onKey, true);
  window.removeEventListener("pointerdown", leave, true);
}
