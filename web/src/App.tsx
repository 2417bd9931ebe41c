/** The page: a bar at the top, panels at the sides, the canvas between them. Each part registers itself. */

import { Suspense, useEffect } from "react";

import styles from "./App.module.css";
import { BARS, type Bar } from "./bars/bar";
import { Canvas } from "./canvas/Canvas";
import { CANVAS, focusTheCanvas } from "./commands/focus";
import { Front } from "./documents/Front";
import { hands } from "./later";
import { Overlays } from "./Overlays";
import { PANELS, type Panel } from "./panels/panel";
import { useLayout } from "./state/layout";
import { keepPreferences } from "./state/preferences_server";
import { useTexts } from "./texts";
import { Button } from "./ui/Button";
import { Dialogs } from "./ui/dialogs";
import { Guarded } from "./ui/Guarded";
import { Icon } from "./ui/icons";
import { Toasts } from "./ui/toasts";

export function App(): React.ReactNode {
  const t = useTexts();
  useListeners();
  return (
    <div className={styles["app"]}>
      <a className={styles["skip"]} href={`#${CANVAS}`} onClick={focusCanvas}>{t("layout.skip")}</a>
      <header className={styles["bar"]} aria-label={t("layout.bar")}>
        <Bars place="left" />
        <Bars place="middle" />
        <Bars place="right" />
      </header>
      <div className={styles["main"]}>
        <Side side="left" />
        <main id={CANVAS} tabIndex={-1} className={styles["canvas"]} aria-label={t("layout.canvas")}>
          <Guarded name={t("layout.canvas")}>
            <Canvas />
            <Front />
          </Guarded>
        </main>
        <Side side="right" />
      </div>
      <Guarded name={t("layout.bar")}>
        <Overlays />
        <Dialogs />
      </Guarded>
      <Toasts />
    </div>
  );
}

function useListeners(): void {
  useEffect(() => {
    const stops = [keepPreferences()];
    let isGone = false;
    void hands().then(({ listenToHands }) => {
      if (!isGone) stops.push(listenToHands());
    });
    return () => {
      isGone = true;
      for (const stop of stops) stop();
    };
  }, []);
}

/** By the focus and not by the address: what stands after "#" there may be a token. */
function focusCanvas(event: React.MouseEvent): void {
  event.preventDefault();
  focusTheCanvas();
}

function Bars({ place }: { readonly place: Bar["place"] }): React.ReactNode {
  const t = useTexts();
  return (
    <div className={styles[place]}>
      {BARS.filter((bar) => bar.place === place).map(({ Component, order }) => (
        <Guarded key={order} name={t("layout.bar")}><Component /></Guarded>
      ))}
    </div>
  );
}

function Side({ side }: { readonly side: "left" | "right" }): React.ReactNode {
  const t = useTexts();
  const shown = useLayout((state) => state[side]);
  const toggle = useLayout((state) => state.toggle);
  const panels = PANELS.filter((panel) => panel.side === side);
  const open = panels.find((panel) => panel.id === shown);
  const rail = panels.length > 0 && (
    <nav key="rail" className={styles["rail"]} data-side={side} aria-label={t(`layout.${side}`)}>
      {panels.map((panel) => (
        <Button key={panel.id} kind="quiet" label={t(panel.title)} aria-pressed={panel === open} onClick={() => toggle(side, panel.id)}>
          {panel.icon}
          <span className={styles["railName"]} aria-hidden="true">{t(panel.title)}</span>
        </Button>
      ))}
    </nav>
  );
  const content = open !== undefined && <Opened key={open.id} panel={open} side={side} />;
  return side === "left" ? [rail, content] : [content, rail];
}

function Opened({ panel, side }: { readonly panel: Panel; readonly side: "left" | "right" }): React.ReactNode {
  const t = useTexts();
  const show = useLayout((state) => state.show);
  const title = t(panel.title);
  return (
    <aside className={styles["panel"]} data-side={side} aria-label={title}>
      <header className={styles["panelHeader"]}>
        <h2>{title}</h2>
        <Button kind="quiet" label={t("layout.close", { panel: title })} onClick={() => show(side, null)}><Icon name="close" size={16} /></Button>
      </header>
      <div className={styles["panelBody"]}>
        <Guarded name={title}>
          <Suspense fallback={<p className={styles["loading"]}>{t("layout.loading")}</p>}>
            <panel.Component />
          </Suspense>
        </Guarded>
      </div>
    </aside>
  );
}
