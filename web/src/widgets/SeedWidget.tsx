import type { ReactNode } from "react";

import { isRandom } from "../model/document";
import { useTexts } from "../texts";
import { NumberWidget } from "./NumberWidget";
import { type WidgetProps, newSession } from "./widget";
import styles from "./widgets.module.css";

/** A seed: a number, or one that is drawn anew for each run. */
export function SeedWidget(props: WidgetProps): ReactNode {
  const { value, onChange, label, port, tabIndex = 0 } = props;
  const t = useTexts();
  const isDrawn = isRandom(value);
  return (
    <span className={styles["pair"]}>
      <NumberWidget {...props} />
      <button
        type="button"
        className={`nodrag ${styles["mark"]}`}
        aria-pressed={isDrawn}
        aria-label={t("widgets.drawSeed", { label })}
        title={isDrawn ? t("widgets.seedIsDrawn") : t("widgets.seedIsFixed")}
        tabIndex={tabIndex}
        data-dice={port.name}
        onClick={() => onChange(isDrawn ? drawnSeed() : { random: true }, newSession())}
      >
        ⚄
      </button>
    </span>
  );
}

/** A seed of 53 bits, as the server draws them. */
function drawnSeed(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}
