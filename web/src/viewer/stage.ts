/** The zoom of one picture in a dialog, and its keys. */

import { useState } from "react";

import { isField } from "../commands/focus";
import { ACTUAL, FIT, type Size, type Zoom, zoomed } from "./zoom";

export interface Stage {
  readonly zoom: Zoom;
  readonly setZoom: (change: (zoom: Zoom) => Zoom) => void;
  readonly picture: Size;
  readonly frame: Size;
  readonly setPicture: (size: Size) => void;
  readonly setFrame: (size: Size) => void;
  readonly keys: (event: React.KeyboardEvent) => void;
}

/** Zoom of one picture, with its keys: + and - zoom, 0 fits, 1 is 100 %. */
export function useStage(): Stage {
  const [zoom, setZoom] = useState<Zoom>(FIT);
  const [picture, setPicture] = useState<Size>({ width: 1, height: 1 });
  const [frame, setFrame] = useState<Size>({ width: 1, height: 1 });
  const keys = (event: React.KeyboardEvent): void => {
    if (isField(event.target) || event.ctrlKey || event.metaKey) return;
    const middle = { x: 0, y: 0 };
    if (event.key === "+" || event.key === "=") setZoom((now) => zoomed(now, 1.25, middle, picture, frame));
    else if (event.key === "-") setZoom((now) => zoomed(now, 0.8, middle, picture, frame));
    else if (event.key === "0") setZoom(FIT);
    else if (event.key === "1") setZoom(ACTUAL);
    else return;
    event.preventDefault();
  };
  return { zoom, setZoom, picture, frame, setPicture, setFrame, keys };
}
