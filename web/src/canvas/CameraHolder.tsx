import { useReactFlow, useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";

import { type Camera, type Point, useCamera } from "../state/camera";
import { around, isIn, middleOf, seen, viewOf } from "./geometry";
import { type Scene, wholeBox } from "./scene";

const LEAST = 0.05;
const MOST = 3;
/** A node is shown at least this large when one goes to it. */
const READABLE = 0.6;

/** Puts the canvas's camera where commands and panels find it. */
export function CameraHolder({ scene, size }: { readonly scene: Scene; readonly size: { readonly width: number; readonly height: number } }): null {
  const flow = useReactFlow();
  const store = useStoreApi();
  const live = useRef({ scene, size });
  useEffect(() => {
    live.current = { scene, size };
  }, [scene, size]);
  useEffect(() => {
    let pointer: Point | null = null;
    const pane = (): HTMLElement | null => store.getState().domNode;
    const bounds = (): DOMRect => pane()?.getBoundingClientRect() ?? new DOMRect();
    const middle = (): Point => middleOf(seen(flow.getViewport(), live.current.size.width, live.current.size.height));
    const track = (event: PointerEvent): void => {
      pointer = event.target instanceof Node && pane()?.contains(event.target) === true ? { x: event.clientX, y: event.clientY } : null;
    };
    const camera: Camera = {
      fit(ids) {
        const { scene: shown, size: { width, height } } = live.current;
        const wanted = ids === undefined ? [...shown.items.values()] : [...ids].flatMap((id) => shown.items.get(id) ?? []);
        const box = around(wanted.map(wholeBox));
        if (box !== null) void flow.setViewport(viewOf(box, width, height, LEAST, ids === undefined ? 1 : 1.5));
      },
      show(id) {
        const item = live.current.scene.items.get(id);
        if (item === undefined) return;
        const zoom = Math.max(READABLE, flow.getZoom());
        const { width, height } = live.current.size;
        if (zoom !== flow.getZoom() || !isIn(seen(flow.getViewport(), width, height), middleOf(item), -40 / zoom)) {
          const at = middleOf(item);
          void flow.setCenter(at.x, at.y, { zoom });
        }
        focusItem(pane(), id);
      },
      zoom: () => flow.getZoom(),
      zoomTo(zoom) {
        const at = middle();
        void flow.setCenter(at.x, at.y, { zoom: Math.min(MOST, Math.max(LEAST, zoom)) });
      },
      panBy({ x, y }) {
        const now = flow.getViewport();
        void flow.setViewport({ ...now, x: now.x - x, y: now.y - y });
      },
      toDocument: (point) => flow.screenToFlowPosition(point, { snapToGrid: false }),
      middle,
      pointer: () => (pointer === null ? null : flow.screenToFlowPosition(pointer, { snapToGrid: false })),
      bounds,
    };
    window.addEventListener("pointermove", track);
    useCamera.setState({ camera });
    return () => {
      window.removeEventListener("pointermove", track);
      if (useCamera.getState().camera === camera) useCamera.setState({ camera: null });
    };
  }, [flow, store]);
  return null;
}

/** Focus a node as soon as it is mounted; it may have to be brought near first. */
function focusItem(pane: HTMLElement | null, id: string, tries = 30): void {
  const element = pane?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`);
  if (element != null) element.focus({ preventScroll: true });
  else if (tries > 0) requestAnimationFrame(() => focusItem(pane, id, tries - 1));
}
