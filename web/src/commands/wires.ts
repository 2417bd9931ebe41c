/** The wires that a menu is for: one that was pressed, or those of a port. */

import { isLink, split } from "../model/document";
import { linksOf } from "../model/graph";
import { camera } from "../state/camera";
import { useDocuments } from "../state/documents";
import { menuTarget } from "../state/menu";
import type { PortEnd } from "../state/palette";
import { here } from "./here";

/** The port that the menu is for. */
export function targetPort(): PortEnd | null {
  const target = menuTarget();
  return target?.kind === "port" ? { node: target.id, port: target.port, side: target.side } : null;
}

/** The wire that the menu is for, by the port it ends at: itself, or the one that ends at an input. */
export function targetWire(): string | null {
  const target = menuTarget();
  if (target?.kind === "wire") return target.to;
  const port = targetPort();
  if (port === null || port.side !== "input") return null;
  return isLink(here()?.scope.nodes[port.node]?.inputs[port.port]) ? `${port.node}.${port.port}` : null;
}

/** Where the wires of an output end that the menu is for. */
export function targetEnds(): readonly string[] {
  const [at, port] = [here(), targetPort()];
  if (at === null || port === null || port.side !== "output") return [];
  return linksOf(at.scope).filter(({ from }) => from === `${port.node}.${port.port}`).map(({ to }) => to);
}

/** Go to a port, with the focus. */
export function goToPort(port: string, side: PortEnd["side"]): void {
  const { node, port: name } = split(port);
  useDocuments.getState().select([node]);
  camera()?.show(node);
  focusPort(node, name, side);
}

/** As soon as it is mounted. */
function focusPort(node: string, port: string, side: string, tries = 40): void {
  const selector = `[data-node="${CSS.escape(node)}"] [data-port="${CSS.escape(port)}"][data-side="${side}"]`;
  const found = document.querySelector<HTMLElement>(selector);
  if (found !== null && tries < 38) found.focus({ preventScroll: true }); // once the node itself has had it
  else if (tries > 0) requestAnimationFrame(() => focusPort(node, port, side, tries - 1));
}
