import { useStoreApi } from "@xyflow/react";
import { type ReactNode, useContext, useEffect, useRef } from "react";

import { useMarks } from "../state/shown";
import { useTexts } from "../texts";
import styles from "./canvas.module.css";
import { paletteAt, type Palette } from "./colours";
import { useLocal } from "./local";
import { paint } from "./paint";
import { Place } from "./place";
import type { Scene } from "./scene";

interface Props {
  readonly scene: Scene;
  readonly selection: ReadonlySet<string>;
}

/** Everything as one picture: nodes from afar, and those whose turn to be mounted has not come yet. */
export function FarLayer({ scene, selection }: Props): ReactNode {
  const t = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const wires = useLocal((state) => state.wires);
  const marks = useMarks(useContext(Place).path);
  const shown = useRef({ scene, selection, wires, marks });
  const ask = useRef<() => void>(() => undefined);
  useEffect(() => {
    shown.current = { scene, selection, wires, marks };
    ask.current();
  }, [scene, selection, wires, marks]);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element == null || context == null) return undefined;
    let frame = 0;
    let palette: Palette | null = null;
    const draw = (): void => {
      frame = 0;
      const { transform: [x, y, zoom], width, height } = store.getState();
      const ratio = Math.min(2, window.devicePixelRatio);
      if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
        element.width = Math.round(width * ratio);
        element.height = Math.round(height * ratio);
      }
      palette ??= paletteAt(element.parentElement ?? document.body);
      paint(context, { ...shown.current, palette, view: { x, y, zoom }, width, height, ratio });
    };
    ask.current = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const repaint = (): void => {
      palette = null;
      ask.current();
    };
    draw();
    const stop = store.subscribe((now, before) => {
      if (now.transform !== before.transform || now.width !== before.width || now.height !== before.height) ask.current();
    });
    const themes = new MutationObserver(repaint);
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", repaint);
    return () => {
      stop();
      cancelAnimationFrame(frame);
      frame = 0;
      themes.disconnect();
      dark.removeEventListener("change", repaint);
    };
  }, [store]);
  return <canvas ref={canvas} className={styles["far"]} role="img" aria-label={t("canvas.farNamed", { count: scene.items.size })} />;
}
