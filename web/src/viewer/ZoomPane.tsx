/**
 * A frame in which content of a known size is zoomed and panned: wheel, pinch, drag, double click, arrow keys with Shift.
 *
 * The zoom is the caller's, so that two frames can share one.
 */

import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";

import styles from "./viewer.module.css";
import { ACTUAL, FIT, type Point, type Size, type Zoom, panned, scaleOf, zoomed } from "./zoom";

interface Props {
  readonly zoom: Zoom;
  readonly onZoom: (change: (zoom: Zoom) => Zoom) => void;
  readonly picture: Size;
  readonly label: string;
  readonly children: ReactNode;
  /** Called with the frame's size, to show the percentage. */
  readonly onFrame?: (frame: Size) => void;
  /** Drags with the main button are the caller's (a brush); the middle button and two fingers still pan. */
  readonly isDragTaken?: boolean;
  readonly className?: string;
}

function useFrame(): { ref: (element: HTMLElement | null) => void; frame: Size; element: React.RefObject<HTMLElement | null> } {
  const [frame, setFrame] = useState<Size>({ width: 1, height: 1 });
  const element = useRef<HTMLElement>(null);
  const observer = useRef<ResizeObserver>(null);
  const ref = useCallback((found: HTMLElement | null) => {
    observer.current?.disconnect();
    element.current = found;
    if (found === null) return;
    const measure = (): void => setFrame({ width: found.clientWidth, height: found.clientHeight });
    observer.current = new ResizeObserver(measure);
    observer.current.observe(found);
    measure();
  }, []);
  return { ref, frame, element };
}

export function ZoomPane({ zoom, onZoom, picture, label, children, onFrame, isDragTaken = false, className = "" }: Props): ReactNode {
  const { ref, frame, element } = useFrame();
  useEffect(() => onFrame?.(frame), [frame, onFrame]);
  useWheel(element, (factor, at) => onZoom((now) => zoomed(now, factor, at, picture, frame)));
  const drag = usePointers(element, isDragTaken, {
    pan: (by) => onZoom((now) => panned(now, by, picture, frame)),
    pinch: (factor, at) => onZoom((now) => zoomed(now, factor, at, picture, frame)),
  });
  const scale = scaleOf(zoom, picture, frame);
  return (
    <div
      ref={ref}
      role="group"
      aria-label={label}
      tabIndex={0}
      className={`${styles["pane"]} ${className}`}
      {...drag}
      onDoubleClick={() => { if (!isDragTaken) onZoom((now) => (now.scale === "fit" ? ACTUAL : FIT)); }}
    >
      <div
        className={scale >= 3 ? styles["pixels"] : styles["smooth"]}
        style={{
          width: picture.width,
          height: picture.height,
          transform: `translate(-50%, -50%) translate(${zoom.x}px, ${zoom.y}px) scale(${scale})`,
        }}
      >
        {children}
      </div>
    </div>
  );
}

/** Where a pointer is, from the middle of the element. */
function fromMiddle(element: Element, at: { readonly clientX: number; readonly clientY: number }): Point {
  const box = element.getBoundingClientRect();
  return { x: at.clientX - box.left - box.width / 2, y: at.clientY - box.top - box.height / 2 };
}

function useWheel(element: React.RefObject<HTMLElement | null>, zoom: (factor: number, at: Point) => void): void {
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const found = element.current;
    if (found === null) return;
    const turn = (event: WheelEvent): void => {
      event.preventDefault(); // React listens passively, so the page would scroll
      const lines = event.deltaMode === 1 ? 20 : 1;
      latest.current(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), fromMiddle(found, event));
    };
    found.addEventListener("wheel", turn, { passive: false });
    return () => found.removeEventListener("wheel", turn);
  }, [element]);
}

interface Gestures {
  pan(by: Point): void;
  pinch(factor: number, at: Point): void;
}
type Listeners = Pick<React.DOMAttributes<HTMLElement>, "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel">;

/** Pan by one pointer (or by the middle button), zoom and pan by two. */
function usePointers(element: React.RefObject<HTMLElement | null>, isDragTaken: boolean, gestures: Gestures): Listeners {
  const down = useRef(new Map<number, Point>());
  const release = (event: React.PointerEvent): void => void down.current.delete(event.pointerId);
  return {
    onPointerDown(event) {
      if (event.button > 1) return;
      if (isDragTaken && event.button === 0 && event.pointerType !== "touch") return;
      down.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (!isDragTaken || event.button === 1) element.current?.setPointerCapture(event.pointerId);
    },
    onPointerMove(event) {
      const before = down.current.get(event.pointerId);
      const frame = element.current;
      if (before === undefined || frame === null) return;
      const now = { x: event.clientX, y: event.clientY };
      const other = [...down.current].find(([pointer]) => pointer !== event.pointerId)?.[1];
      down.current.set(event.pointerId, now);
      if (other !== undefined) {
        const middle = fromMiddle(frame, { clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2 });
        gestures.pinch(distance(now, other) / Math.max(1, distance(before, other)), middle);
        gestures.pan({ x: (now.x - before.x) / 2, y: (now.y - before.y) / 2 });
      } else if (!isDragTaken || (event.buttons & 4) !== 0) {
        gestures.pan({ x: now.x - before.x, y: now.y - before.y });
      }
    },
    onPointerUp: release,
    onPointerCancel: release,
  };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
