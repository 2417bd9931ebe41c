/** The context menu: where it is open, and for what. Its entries are commands (`menus/entries.ts`). */

import { create } from "zustand";

import { activeDocument, useDocuments } from "./documents";
import type { Point } from "./palette";

export type MenuTarget =
  /** `at`: where on the canvas, in the document's units. */
  | { readonly kind: "canvas"; readonly at?: Point }
  | { readonly kind: "node" | "frame" | "note"; readonly id: string }
  /** A port of the node. */
  | { readonly kind: "port"; readonly id: string; readonly port: string; readonly side: "input" | "output" }
  /** The wire that ends at "node.port"; `at` as above. */
  | { readonly kind: "wire"; readonly to: string; readonly at?: Point }
  /** Of what is selected: the colours it can have, the ports that can be named. */
  | { readonly kind: "colours" | "inputs" | "outputs" };

export interface OpenMenu {
  /** In pixels of the window. */
  readonly at: Point;
  readonly target: MenuTarget;
}

export const useMenu = create<{ readonly open: OpenMenu | null }>()(() => ({ open: null }));

/** Open the menu. What it is for becomes the selection, unless it is part of it already: its commands act on that. */
export function openContextMenu(menu: OpenMenu): void {
  const item = itemOf(menu.target);
  if (item !== null && !activeDocument()?.selection.has(item)) useDocuments.getState().select([item]);
  useMenu.setState({ open: menu });
}

export function closeContextMenu(): void {
  useMenu.setState({ open: null });
}

let chosenFor: MenuTarget | null = null;

/** What the open menu is for, or the one whose command is being run; null for neither. */
export function menuTarget(): MenuTarget | null {
  return chosenFor ?? useMenu.getState().open?.target ?? null;
}

/** Do what was chosen in a menu for a target. */
export function chooseFor(target: MenuTarget, act: () => void): void {
  chosenFor = target;
  try {
    act();
  } finally {
    chosenFor = null;
  }
}

/** The target as a member of a selection; null for what cannot be selected. */
function itemOf(target: MenuTarget): string | null {
  if (target.kind === "node" || target.kind === "port") return target.id;
  if (target.kind === "frame" || target.kind === "note") {
    return target.id.startsWith(`${target.kind}:`) ? target.id : `${target.kind}:${target.id}`;
  }
  return null;
}

/** The port that an element shows or lies in, as a target; null for none. */
export function portOf(element: Element): MenuTarget | null {
  const found = element.closest<HTMLElement>("[data-port]");
  const id = found?.closest<HTMLElement>("[data-node]")?.dataset["node"];
  const { port, side } = found?.dataset ?? {};
  if (id === undefined || port === undefined || (side !== "input" && side !== "output")) return null;
  return { kind: "port", id, port, side };
}
