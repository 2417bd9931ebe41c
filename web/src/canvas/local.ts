/** What happens on the canvas right now and is no part of a document: a drag, a marquee, chosen wires. */

import { create } from "zustand";

import type { Box, Point } from "./geometry";

interface Local {
  /** Where items are while they are dragged; null while none is. */
  readonly moved: ReadonlyMap<string, Point> | null;
  /** With Alt: copies are dragged, and what they are of stays. */
  readonly isCopying: boolean;
  /** The wire that the dragged node would be put into. */
  readonly into: string | null;
  /** Wires that are selected, by the port they end at. */
  readonly wires: ReadonlySet<string>;
  /** The point of a wire that was pressed last: Delete takes it out. */
  readonly point: { readonly to: string; readonly index: number } | null;
  readonly marquee: Box | null;
  /** What a screen reader says next. */
  readonly said: string;
}

export const useLocal = create<Local>()(() => ({
  moved: null, isCopying: false, into: null, wires: new Set(), marquee: null, point: null, said: "",
}));

export function announce(text: string): void {
  useLocal.setState({ said: text });
}

export function chooseWires(wires: Iterable<string>): void {
  const next = new Set(wires);
  if (next.size === 0 && useLocal.getState().wires.size === 0) return;
  useLocal.setState({ wires: next });
}
