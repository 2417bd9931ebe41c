/** A small box beside what opened it; Escape or a click elsewhere closes it. */

import { useEffect, useRef } from "react";

import styles from "./Popover.module.css";

interface Props {
  /** What opened it; focus goes back there. */
  readonly anchor: HTMLElement;
  readonly label: string;
  readonly children: React.ReactNode;
  onClose(): void;
}

const GAP_PX = 6;

export function Popover({ anchor, label, children, onClose }: Props): React.ReactNode {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = element.current;
    if (box === null) return;
    box.showPopover?.();
    place(box, anchor);
    const watched = new ResizeObserver(() => place(box, anchor));
    watched.observe(box);
    box.focus();
    return () => watched.disconnect();
  }, [anchor]);
  return (
    <div
      ref={element}
      popover="auto"
      role="dialog"
      aria-label={label}
      tabIndex={-1}
      className={`${styles["popover"]} nodrag nopan nowheel`}
      onToggle={(event) => {
        if (event.newState === "closed") onClose();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Escape") return;
        onClose();
        anchor.focus();
      }}
      onPointerDown={(event) => event.stopPropagation()}
      onDoubleClick={(event) => event.stopPropagation()}
    >
      {children}
    </div>
  );
}

/** Below the anchor, or above it where there is more room; never outside the window. */
function place(box: HTMLElement, anchor: HTMLElement): void {
  const from = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const fitsBelow = from.bottom + GAP_PX + height <= innerHeight;
  const top = fitsBelow || from.top < innerHeight / 2 ? from.bottom + GAP_PX : from.top - GAP_PX - height;
  box.style.left = `${Math.max(GAP_PX, Math.min(from.left, innerWidth - width - GAP_PX))}px`;
  box.style.top = `${Math.max(GAP_PX, Math.min(top, innerHeight - height - GAP_PX))}px`;
}
