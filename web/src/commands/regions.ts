import { CANVAS, focusTheCanvas } from "./focus";

/** The parts of the page as stops of the focus: bar, rails, panels, canvas. */

const REGIONS = "#root header[aria-label], #root nav[aria-label], #root aside[aria-label], #canvas";

/** Focus the next part of the page, or the one before: what was focused first in it, the canvas itself. */
export function goToRegion(step: 1 | -1): void {
  const regions = [...document.querySelectorAll<HTMLElement>(REGIONS)].filter((region) => region.parentElement?.closest(REGIONS) == null);
  const at = regions.findIndex((region) => region.contains(document.activeElement));
  for (let tries = 1; tries <= regions.length; tries++) {
    const region = regions[(at + step * tries + regions.length * 2) % regions.length];
    if (region?.id === CANVAS) return focusTheCanvas();
    const target = region?.querySelector<HTMLElement>("button:not(:disabled), input, select, textarea, a[href], [tabindex='0']");
    if (target == null) continue;
    target.focus();
    return;
  }
}
