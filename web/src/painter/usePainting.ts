/** Pointers as strokes: mouse, pen (with its pressure), one finger. Draws while one paints; the stroke is told at its end. */

import { type RefObject, useEffect, useRef } from "react";

import { drawDab } from "./draw";
import { type Dab, type Tool, pressed } from "./strokes";

interface Options {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly tool: Tool;
  readonly radius: number;
  readonly isOff: boolean;
  /** Screen pixels per pixel of the picture. */
  readonly scale: number;
  readonly onStroke: (tool: Tool, dabs: readonly Dab[]) => void;
}

type Listeners = Pick<
  React.DOMAttributes<HTMLCanvasElement>,
  "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel" | "onPointerLeave"
>;

export function usePainting({ canvas, tool, radius, isOff, scale, onStroke }: Options): { listeners: Listeners; cursor: RefObject<HTMLDivElement | null> } {
  const cursor = useRef<HTMLDivElement>(null);
  const last = useRef({ x: 0, y: 0 });
  const stroke = useRef<{ pointer: number; tool: Tool; dabs: Dab[] } | null>(null);
  useEffect(() => {
    if (cursor.current === null) return;
    // In pixels of the screen, so that its line is as thin at every zoom.
    cursor.current.style.width = cursor.current.style.height = `${radius * 2 * scale}px`;
    cursor.current.style.transform = placed(last.current, radius, scale);
  }, [radius, scale]);

  const place = (event: { clientX: number; clientY: number }): { x: number; y: number } => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined || canvas.current === null) return { x: 0, y: 0 };
    return { x: ((event.clientX - box.left) / box.width) * canvas.current.width, y: ((event.clientY - box.top) / box.height) * canvas.current.height };
  };
  const touch = (event: PointerEvent): void => {
    const context = canvas.current?.getContext("2d", { willReadFrequently: true });
    if (!context || stroke.current === null) return;
    const dab = { ...place(event), radius: pressed(radius, event.pointerType, event.pressure) };
    drawDab(context, stroke.current.tool, stroke.current.dabs.at(-1), dab);
    stroke.current.dabs.push(dab);
  };
  const end = (): void => {
    if (stroke.current !== null) onStroke(stroke.current.tool, stroke.current.dabs);
    stroke.current = null;
  };
  const listeners: Listeners = {
    onPointerDown(event) {
      if (isOff || event.button !== 0) return;
      // A second finger means zoom: what the first has painted so far stays a stroke of its own.
      if (stroke.current !== null) return end();
      if (!event.isPrimary) return;
      // The other end of a pen rubs out.
      stroke.current = { pointer: event.pointerId, tool: event.buttons === 32 ? "eraser" : tool, dabs: [] };
      event.currentTarget.setPointerCapture(event.pointerId);
      touch(event.nativeEvent);
    },
    onPointerMove(event) {
      if (cursor.current !== null) {
        const at = place(event);
        last.current = at;
        cursor.current.style.transform = placed(at, radius, scale);
        cursor.current.style.visibility = isOff || event.pointerType === "touch" ? "hidden" : "visible";
      }
      if (stroke.current?.pointer !== event.pointerId) return;
      const all = event.nativeEvent.getCoalescedEvents();
      for (const one of all.length > 0 ? all : [event.nativeEvent]) touch(one);
    },
    onPointerUp: end,
    onPointerCancel: end,
    onPointerLeave() {
      if (cursor.current !== null) cursor.current.style.visibility = "hidden";
    },
  };
  return { listeners, cursor };
}

function placed(at: { x: number; y: number }, radius: number, scale: number): string {
  return `translate(${at.x - radius}px, ${at.y - radius}px) scale(${1 / scale})`;
}
