/** A picture in a frame that zooms and pans it. Its size is known when it has loaded. */

import { type ReactNode, useRef, useState } from "react";

import { useTexts } from "../texts";
import styles from "./viewer.module.css";
import { ZoomPane } from "./ZoomPane";
import type { Size, Zoom } from "./zoom";

interface Props {
  readonly url: string;
  readonly name: string;
  readonly zoom: Zoom;
  readonly onZoom: (change: (zoom: Zoom) => Zoom) => void;
  readonly onSize?: (size: Size) => void;
  readonly onFrame?: (size: Size) => void;
  /** Whether the keyboard is here when the dialog opens. */
  readonly takesFocus?: boolean;
}

export function Picture({ url, name, zoom, onZoom, onSize, onFrame, takesFocus = false }: Props): ReactNode {
  const t = useTexts();
  const [size, setSize] = useState<Size>({ width: 1, height: 1 });
  const [isBroken, setBroken] = useState(false);
  const outer = useRef<HTMLDivElement>(null);
  const loaded = (event: React.SyntheticEvent<HTMLImageElement>): void => {
    const found = { width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight };
    setSize(found);
    onSize?.(found);
    const pane = outer.current?.querySelector<HTMLElement>("[tabindex]");
    if (takesFocus && !document.activeElement?.matches("input, select, textarea")) pane?.focus({ preventScroll: true });
  };
  if (isBroken) return <p className={styles["broken"]} role="alert">{t("gallery.cannot_show", { name })}</p>;
  return (
    <div ref={outer} className={styles["holder"]}>
      <ZoomPane zoom={zoom} onZoom={onZoom} picture={size} label={name} {...(onFrame === undefined ? {} : { onFrame })}>
        <img src={url} alt={name} draggable={false} onLoad={loaded} onError={() => setBroken(true)} />
      </ZoomPane>
    </div>
  );
}
