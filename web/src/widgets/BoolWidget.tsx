import type { ReactNode } from "react";

import { useTexts } from "../texts";
import { type WidgetProps, newSession, taken } from "./widget";
import styles from "./widgets.module.css";

/** True or false: a switch. */
export function BoolWidget({ port, value, onChange, label, tabIndex = 0 }: WidgetProps): ReactNode {
  const t = useTexts();
  const { value: shown, isDefault } = taken(port, value);
  const isOn = shown === true;
  return (
    <button
      type="button"
      role="switch"
      aria-checked={isOn}
      aria-label={label}
      data-widget={port.name}
      tabIndex={tabIndex}
      className={`nodrag ${styles["lean"]} ${isDefault ? styles["default"] : ""}`}
      onClick={() => onChange(!isOn, newSession())}
    >
      <span className={styles["switch"]} aria-hidden="true" />
      {isOn ? t("widgets.on") : t("widgets.off")}
    </button>
  );
}
