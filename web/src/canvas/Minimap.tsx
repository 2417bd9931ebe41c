import { useReactFlow, useStore } from "@xyflow/react";
import { type PointerEvent, type ReactNode, useEffect, useMemo, useRef } from "react";

import { useTexts } from "../texts";
import styles from "./canvas.module.css";
import { paletteAt } from "./colours";
import { type Box, around, grown, isIn, seen, viewOf } from "./geometry";
import { pathsOf } from "./paint";
import type { Scene } from "./scene";

const WIDTH = 200;
const HEIGHT = 132;

/** The whole scope small, and what of it is seen; hidden while all of it is. A press or drag in it goes there. */
export function Minimap({ scene }: { readonly scene: Scene }): ReactNode {
  const t = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = useReactFlow();
  const all = useMemo(() => around(scene.items.values()), [scene]);
  const whole = useMemo(() => viewOf(grown(all ?? { x: 0, y: 0, width: 800, height: 500 }, 60), WIDTH, HEIGHT, 0.001, 0.2, 6), [all]);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context == null || canvas.current === null) return undefined;
    const element = canvas.current;
    const handle = requestAnimationFrame(() => {
      const palette = paletteAt(element.parentElement ?? document.body);
      const { bodies, headers, frames } = pathsOf(scene);
      const ratio = 2;
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, WIDTH * ratio, HEIGHT * ratio);
      context.setTransform(whole.zoom * ratio, 0, 0, whole.zoom * ratio, whole.x * ratio, whole.y * ratio);
      context.globalAlpha = 0.25;
      for (const { colour, path } of frames) {
        context.fillStyle = palette.by[colour] ?? palette.quiet;
        context.fill(path);
      }
      context.globalAlpha = 0.55;
      context.fillStyle = palette.quiet;
      context.fill(bodies);
      context.globalAlpha = 1;
      for (const [colour, path] of headers) {
        context.fillStyle = palette.by[colour] ?? palette.quiet;
        context.fill(path);
      }
    });
    return () => cancelAnimationFrame(handle);
  }, [scene, whole]);
  const go = (event: PointerEvent): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.left - whole.x) / whole.zoom;
    const y = (event.clientY - box.top - whole.y) / whole.zoom;
    void flow.setCenter(x, y, { zoom: flow.getZoom(), duration: 0 });
  };
  return (
    <div
      className={`nopan nowheel ${styles["minimap"]}`}
      role="img"
      aria-label={t("canvas.minimap")}
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={(event) => { if (event.buttons === 1) go(event); }}
    >
      <canvas ref={canvas} width={WIDTH * 2} height={HEIGHT * 2} />
      <Window all={all} zoom={whole.zoom} x={whole.x} y={whole.y} />
    </div>
  );
}

/** The part that is seen; the only thing here that moves with the viewport. */
function Window({ all, x, y, zoom }: { readonly all: Box | null; readonly x: number; readonly y: number; readonly zoom: number }): ReactNode {
  const [left, top, scale] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const box = seen({ x: left, y: top, zoom: scale }, width, height);
  const style = { transform: `translate(${box.x * zoom + x}px, ${box.y * zoom + y}px)`, width: box.width * zoom, height: box.height * zoom };
  const isAll = all !== null && isIn(box, all) && isIn(box, { x: all.x + all.width, y: all.y + all.height });
  return <i className={styles["window"]} style={style} data-all={isAll ? "" : undefined} />;
}
