/** The lists one types into: the node types that can be added, the commands. Which is open, and with what. */

import { create } from "zustand";

import type { Point } from "./camera";

export type { Point };

/** A port of a node in the scope that is shown. */
export interface PortEnd {
  readonly node: string;
  readonly port: string;
  readonly side: "input" | "output";
}

export interface AddNodeRequest {
  /** Where the new node's upper left corner goes, in the document's units; without: under the pointer, else in the middle. */
  readonly at?: Point;
  /** The port that a wire was dragged from: only what fits is listed, and the new node is wired to it. */
  readonly from?: PortEnd;
  /** The wire (by the port it ends at, "node.port") that the new node is put into. */
  readonly into?: string;
}

type Shown = { readonly list: "nodes"; readonly request: AddNodeRequest } | { readonly list: "commands" } | null;

interface Palette {
  readonly shown: Shown;
  /** What was typed while the code of the list was on its way, and whether Enter ended it. */
  readonly typed: string;
  readonly isEntered: boolean;
}

const NOTHING_TYPED = { typed: "", isEntered: false } as const;

export const usePalette = create<Palette>()(() => ({ shown: null, ...NOTHING_TYPED }));

/** Show the list of node types; the one chosen is added. */
export function openAddNode(request: AddNodeRequest = {}): void {
  usePalette.setState({ shown: { list: "nodes", request }, ...NOTHING_TYPED });
}

/** Show the list of commands; the one chosen is run. */
export function openCommands(): void {
  usePalette.setState({ shown: { list: "commands" }, ...NOTHING_TYPED });
}

export function closePalette(): void {
  usePalette.setState({ shown: null, ...NOTHING_TYPED });
}

/** Keep what is typed for the list that was asked for and is not there yet, until the returned function is called. */
export function keepTyped(target: Window = window): () => void {
  const take = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const isText = event.key.length === 1 && ((!event.ctrlKey && !event.metaKey && !event.altKey) || event.getModifierState("AltGraph"));
    if (isText) usePalette.setState(({ typed, isEntered }) => (isEntered ? {} : { typed: typed + event.key }));
    else if (event.key === "Backspace") usePalette.setState(({ typed }) => ({ typed: typed.slice(0, -1), isEntered: false }));
    else if (event.key === "Enter") usePalette.setState({ isEntered: true });
    else if (event.key === "Escape") closePalette();
    else if (event.key !== "Tab") return;
    event.preventDefault();
    event.stopPropagation();
  };
  target.addEventListener("keydown", take, true);
  return () => target.removeEventListener("keydown", take, true);
}
