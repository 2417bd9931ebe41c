import { useReactFlow } from "@xyflow/react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";

import { preferences } from "../state/preferences";
import { isTrackpad } from "./wheel";

/** Two fingers on a trackpad move the view, and so does a wheel if its user wants that; everything else of a wheel is left to zoom. */
export function useWheel(element: RefObject<HTMLElement | null>): void {
  const flow = useReactFlow();
  useEffect(() => {
    const target = element.current;
    const roll = (event: WheelEvent): void => {
      const isMoved = isTrackpad(event) || (preferences().wheel === "pan" && !event.ctrlKey && !event.metaKey);
      if (!isMoved || (event.target instanceof Element && event.target.closest(".nowheel") !== null)) return;
      event.preventDefault();
      event.stopPropagation();
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x - event.deltaX, y: y - event.deltaY, zoom });
    };
    target?.addEventListener("wheel", roll, { capture: true, passive: false });
    return () => target?.removeEventListener("wheel", roll, { capture: true });
  }, [element, flow]);
}

/** Whether fingers are what points here: then one finger on the ground pans. */
export function useTouch(): boolean {
  const [isTouch, setTouch] = useState(() => window.matchMedia("(pointer: coarse)").matches);
  const last = useRef(isTouch);
  useEffect(() => {
    // At once: what the press begins (touchstart, mousedown) comes right after it.
    const press = (event: PointerEvent): void => {
      const now = event.pointerType === "touch";
      if (now !== last.current) flushSync(() => setTouch((last.current = now)));
    };
    window.addEventListener("pointerdown", press, true);
    return () => window.removeEventListener("pointerdown", press, true);
  }, []);
  return isTouch;
}
