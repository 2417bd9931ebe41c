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

export const usePalette = create<{ readonly shown: Shown }>()(() => ({ shown: null }));

/** Show the list of node types; the one chosen is added. */
export function openAddNode(request: AddNodeRequest = {}): void {
  usePalette.setState({ shown: { list: "nodes", request } });
}

/** Show the list of commands; the one chosen is run. */
export function openCommands(): void {
  usePalette.setState({ shown: { list: "commands" } });
}

export function closePalette(): void {
  usePalette.setState({ shown: null });
}
