/**
 * Near or far, and which nodes are mounted: from afar none; coming near, those in view a few at a time, so that no frame
 * takes long; then all that xyflow shows.
 */

import { useCallback, useEffect, useRef, useState } from "react";

import { type View, meet, middleOf, seen } from "./geometry";
import type { Scene } from "./scene";

export const FAR_BELOW = 0.35;
/** Coming back takes a little more, so that a zoom at the edge does not flicker. */
const NEAR_FROM = 0.38;
/** So few are mounted at once without being noticed. */
const AT_ONCE = 16;
const SLICE_MS = 8;

export interface Admitting {
  readonly isFar: boolean;
  /** The nodes that are mounted so far; null: all. */
  readonly admitted: ReadonlySet<string> | null;
}

export function useAdmitting(scene: Scene, first: View, size: { readonly width: number; readonly height: number }): Admitting & { onView(view: View): void } {
  const live = useRef(scene);
  live.current = scene;
  const [state, setState] = useState<Admitting>(() => (first.zoom < FAR_BELOW ? { isFar: true, admitted: null } : { isFar: false, admitted: firstOf(waiting(scene, first, size)) }));
  const view = useRef(first);
  const onView = useCallback((now: View): void => {
    view.current = now;
    setState((before) => {
      const isFar = now.zoom < (before.isFar ? NEAR_FROM : FAR_BELOW);
      if (isFar === before.isFar) return before;
      return isFar ? { isFar, admitted: null } : { isFar, admitted: firstOf(waiting(live.current, now, size)) };
    });
  }, [size]);
  useEffect(() => {
    if (state.admitted === null) return undefined;
    const { admitted } = state;
    const started = performance.now();
    const handle = requestAnimationFrame(() => {
      const rest = waiting(live.current, view.current, size).filter((id) => !admitted.has(id));
      if (rest.length === 0) setState({ isFar: false, admitted: null });
      else setState({ isFar: false, admitted: new Set([...admitted, ...rest.slice(0, sliceFor(performance.now() - started))]) });
    });
    return () => cancelAnimationFrame(handle);
  }, [state, size]);
  return { ...state, onView };
}

/** How many next: fewer when frames are slow already. */
function sliceFor(elapsed: number): number {
  return elapsed > 3 * SLICE_MS ? 6 : 10;
}

function firstOf(ids: readonly string[]): ReadonlySet<string> | null {
  return ids.length <= 2 * AT_ONCE ? null : new Set(ids.slice(0, AT_ONCE));
}

/** What is in view, from the middle outwards. */
function waiting(scene: Scene, view: View, { width, height }: { readonly width: number; readonly height: number }): readonly string[] {
  const region = seen(view, width, height);
  const centre = middleOf(region);
  const found: { readonly id: string; readonly distance: number }[] = [];
  for (const item of scene.items.values()) {
    if (!meet(region, item)) continue;
    const middle = middleOf(item);
    found.push({ id: item.id, distance: Math.hypot(middle.x - centre.x, middle.y - centre.y) });
  }
  return found.sort((a, b) => a.distance - b.distance).map((one) => one.id);
}
