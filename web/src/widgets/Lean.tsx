import type { ReactNode } from "react";

import styles from "./widgets.module.css";
import { type Editing, type WidgetProps, taken, textOf } from "./widget";

type Props = WidgetProps & Omit<React.ComponentProps<"button">, keyof WidgetProps | "onClick"> & {
  readonly editing: Editing;
  readonly isTall?: boolean;
  /** How full the value's range is, 0 to 1: drawn behind it. */
  readonly full?: number | undefined;
  readonly children?: ReactNode;
};

/** A value as text, until it is edited: one element, so that hundreds of them cost little. */
export function Lean({ port, value, onChange: _, label, tabIndex = 0, editing, isTall = false, full, children, ...rest }: Props): ReactNode {
  const { isDefault, value: shown } = taken(port, value);
  const text = textOf(port, value);
  const isNeeded = shown === undefined && !port.optional;
  const look = [styles["lean"], isTall && styles["tall"], isDefault && styles["default"], isNeeded && styles["needed"], full !== undefined && styles["range"]];
  return (
    <button
      {...rest}
      ref={editing.lean}
      type="button"
      data-widget={port.name}
      className={`nodrag ${look.filter(Boolean).join(" ")}`}
      style={full === undefined ? undefined : { backgroundSize: `${full * 100}% 100%` }}
      tabIndex={tabIndex}
      aria-label={`${label}: ${text}`}
      onClick={editing.start}
    >
      {children ?? (text === "" ? "\u00a0" : text)}
    </button>
  );
}
