/** The page: a bar at the top, panels at the sides, the canvas between them. Each part registers itself. */

import { Suspense } from "react";

import styles from "./App.module.css";
import { BARS, type Bar } from "./bars/bar";
import { Canvas } from "./canvas/Canvas";
import { Front } from "./documents/Front";
import { PANELS } from "./panels/panel";
import { useLayout } from "./state/layout";
import { useTexts } from "./texts";
import { Button } from "./ui/Button";
import { Dialogs } from "./ui/dialogs";
import { Toasts } from "./ui/toasts";

export function App(): React.ReactNode {
  return (
    <div className={styles["app"]}>
      <header className={styles["bar"]}>
        <Bars place="left" />
        <Bars place="middle" />
        <Bars place="right" />
      </header>
      <div className={styles["main"]}>
        <Side side="left" />
        <main className={styles["canvas"]}>
          <Canvas />
          <Front />
        </main>
        <Side side="right" />
      </div>
      <Dialogs />
      <Toasts />
    </div>
  );
}

function Bars({ place }: { readonly place: Bar["place"] }): React.ReactNode {
  return (
    <div className={styles[place]}>
      {BARS.filter((bar) => bar.place === place).map(({ Component, order }) => <Component key={order} />)}
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
    <nav key="rail" className={styles["rail"]} aria-label={t(`layout.${side}`)}>
      {panels.map((panel) => (
        <Button key={panel.id} kind="quiet" label={t(panel.title)} aria-pressed={panel === open} onClick={() => toggle(side, panel.id)}>
          {panel.icon}
        </Button>
      ))}
    </nav>
  );
  const content = open !== undefined && (
    <aside key="panel" className={styles["panel"]} aria-label={t(open.title)}>
      <Suspense fallback={null}>
        <open.Component />
      </Suspense>
    </aside>
  );
  return side === "left" ? [rail, content] : [content, rail];
}
