/** What is looked at: the canvas puts its camera here while it is shown, and commands and panels move it. */

import { create } from "zustand";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Camera {
  /** Show these items (nodes, "frame:id", "note:id") of the scope that is shown; without: all of it. */
  fit(ids?: Iterable<string>): void;
  /** Bring an item into view, large enough to be read, and focus it. */
  show(id: string): void;
  zoom(): number;
  /** Zoom about the middle. */
  zoomTo(zoom: number): void;
  /** Move by pixels of the window: what lies to the right comes nearer with a positive x. */
  panBy(by: Point): void;
  /** A point of the window in the document's units. */
  toDocument(window: Point): Point;
  /** The middle of what is seen, in the document's units. */
  middle(): Point;
  /** Where the pointer is over the canvas, in the document's units; null while it is elsewhere. */
  pointer(): Point | null;
  /** In pixels of the window. */
  bounds(): DOMRect;
}

interface CameraState {
  readonly camera: Camera | null;
}

export const useCamera = create<CameraState>()(() => ({ camera: null }));

export function camera(): Camera | null {
  return useCamera.getState().camera;
}
