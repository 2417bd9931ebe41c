/**
 * Near or far, and which items are mounted.
 *
 * From afar none are: one picture shows them all. Near, those in view and around it, a few per frame, so that no frame takes
 * long, however many come into view at once; the picture shows the others meanwhile. One that is being edited stays.
 */

import { useCallback, useEffect, useRef, useState } from "react";

import { type Box, type View, grown, meet, middleOf, seen } from "./geometry";
import type { Scene } from "./scene";

const FAR_BELOW = 0.35;
/** Coming back takes a little more, so that a zoom at the edge does not flicker. */
const NEAR_FROM = 0.38;
/** A scene of so many items is mounted whole and at once. */
const FEW = 40;
/** Up to so many, what was mounted stays. */
const SOME = 150;
/** So many more than are wanted may stay mounted, and a fifth of these. */
const SPARE = 6;
/** What lies around the view, in parts of its shorter side, is mounted too. */
const AROUND = 0.12;
const FIRST = 16;
const PER_FRAME = 8;

interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Admitting {
  readonly isFar: boolean;
  /** The items that are mounted; null: all. */
  readonly admitted: ReadonlySet<string> | null;
  /** Whether something in view is not mounted yet. */
  readonly isShort: boolean;
}

export function useAdmitting(scene: Scene, first: View, size: Size): Admitting & { onView(view: View): void } {
  const live = useRef({ scene, size });
  live.current = { scene, size };
  const view = useRef(first);
  const [state, setState] = useState<Admitting>(() => begun(scene, first, size));
  const frame = useRef(0);
  const ask = useCallback((): void => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      setState((before) => next(before, live.current.scene, view.current, live.current.size));
    });
  }, []);
  useEffect(ask, [ask, state, scene, size]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const onView = useCallback((now: View): void => {
    view.current = now;
    setState((before) => {
      const isFar = now.zoom < (before.isFar ? NEAR_FROM : FAR_BELOW);
      return isFar === before.isFar ? before : begun(live.current.scene, now, live.current.size);
    });
    ask();
  }, [ask]);
  return { ...state, onView };
}

/** At first, and whenever it becomes near or far. */
export function begun(scene: Scene, view: View, size: Size): Admitting {
  if (view.zoom < FAR_BELOW) return { isFar: true, admitted: null, isShort: false };
  if (scene.items.size <= FEW) return { isFar: false, admitted: null, isShort: false };
  const visible = inside(scene, seen(view, size.width, size.height));
  return { isFar: false, admitted: new Set(visible.slice(0, FIRST)), isShort: visible.length > FIRST };
}

/** A frame later: some more; or, when all are there, without those far out of view. The same object: nothing to do. */
export function next(before: Admitting, scene: Scene, view: View, size: Size): Admitting {
  const { isFar, admitted } = before;
  if (isFar) return before;
  if (admitted === null) return scene.items.size <= FEW ? before : { isFar, admitted: new Set(scene.items.keys()), isShort: false };
  const region = seen(view, size.width, size.height);
  const wanted = scene.items.size <= SOME ? inside(scene, region, true) : inside(scene, grown(region, Math.min(region.width, region.height) * AROUND));
  const missing = wanted.filter((id) => !admitted.has(id));
  if (missing.length > 0) {
    const more = new Set([...admitted, ...missing.slice(0, PER_FRAME)]);
    const isShort = missing.slice(PER_FRAME).some((id) => isSeen(scene, id, region));
    return { isFar, admitted: more, isShort };
  }
  if (admitted.size > 1.2 * wanted.length + SPARE) return { isFar, admitted: new Set([...wanted, ...edited()]), isShort: false };
  return before.isShort ? { ...before, isShort: false } : before;
}

function isSeen(scene: Scene, id: string, region: Box): boolean {
  const item = scene.items.get(id);
  return item !== undefined && meet(region, item);
}

/** Ids of the items in a region (`all`: of all items), from its middle outwards. */
function inside(scene: Scene, region: Box, all = false): readonly string[] {
  const centre = middleOf(region);
  const found: { readonly id: string; readonly distance: number }[] = [];
  for (const item of scene.items.values()) {
    if (!all && !meet(region, item)) continue;
    const middle = middleOf(item);
    found.push({ id: item.id, distance: Math.hypot(middle.x - centre.x, middle.y - centre.y) });
  }
  return found.sort((a, b) => a.distance - b.distance).map((one) => one.id);
}

/** The item with the focus in it: what is typed there must not go with it. */
function edited(): readonly string[] {
  const id = document.activeElement?.closest<HTMLElement>(".react-flow__node")?.dataset["id"];
  return id === undefined ? [] : [id];
}
