/** Places for nodes that have none (documents written by hand or by programs): columns by depth, below what has a place. */

import { type Scope, isLink, split } from "../model/document";
import type { Point } from "./geometry";

const ACROSS = 304;
const DOWN = 288;

export function placesFor(scope: Scope, ids: readonly string[]): { readonly [id: string]: Point } {
  const depths = new Map<string, number>();
  const depthOf = (id: string): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    depths.set(id, 0); // what a circle finds of itself
    let depth = 0;
    for (const value of Object.values(scope.nodes[id]?.inputs ?? {})) {
      if (!isLink(value)) continue;
      const above = split(value.link).node;
      if (above in scope.nodes) depth = Math.max(depth, depthOf(above) + 1);
    }
    depths.set(id, depth);
    return depth;
  };
  const placed = Object.values(scope.view?.nodes ?? {}).flatMap((view) => (view.y === undefined ? [] : [view.y]));
  const top = placed.length === 0 ? 0 : Math.max(...placed) + 2 * DOWN;
  const used = new Map<number, number>();
  const places: { [id: string]: Point } = {};
  for (const id of ids) {
    const column = depthOf(id);
    const row = used.get(column) ?? 0;
    used.set(column, row + 1);
    places[id] = { x: column * ACROSS, y: top + row * DOWN };
  }
  return places;
}
