/** Closer, farther, 100 % and fit, with the zoom in percent. */

import type { ReactNode } from "react";

import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import styles from "./viewer.module.css";
import { ACTUAL, FIT, type Size, type Zoom, scaleOf, zoomed } from "./zoom";

interface Props {
  readonly zoom: Zoom;
  readonly setZoom: (change: (zoom: Zoom) => Zoom) => void;
  readonly picture: Size;
  readonly frame: Size;
}

const MIDDLE = { x: 0, y: 0 };

export function ZoomBar({ zoom, setZoom, picture, frame }: Props): ReactNode {
  const t = useTexts();
  const percent = Math.round(scaleOf(zoom, picture, frame) * 100);
  return (
    <div className={styles["zoom_bar"]} role="group" aria-label={t("gallery.zoom")}>
      <Button label={t("gallery.farther")} onClick={() => setZoom((now) => zoomed(now, 0.8, MIDDLE, picture, frame))}>−</Button>
      <output className={styles["percent"]} aria-label={t("gallery.zoom")}>{percent} %</output>
      <Button label={t("gallery.closer")} onClick={() => setZoom((now) => zoomed(now, 1.25, MIDDLE, picture, frame))}>+</Button>
      <Button aria-pressed={zoom.scale === "fit"} onClick={() => setZoom(() => FIT)}>{t("gallery.fit")}</Button>
      <Button aria-pressed={zoom.scale === 1} onClick={() => setZoom(() => ACTUAL)}>100 %</Button>
    </div>
  );
}
