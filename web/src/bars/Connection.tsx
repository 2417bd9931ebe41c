/** A calm banner while the server is not there: what is going on, since when, and that nothing is lost. */

import { useEffect, useRef } from "react";

import { useAnnouncement } from "../state/announce";
import { type ConnectionState, connect, socket, useConnection } from "../state/connection";
import { clockText } from "../state/format";
import { type TextKey, useTexts } from "../texts";
import { Button } from "../ui/Button";
import { say } from "../ui/toasts";
import type { Bar } from "./bar";
import styles from "./Connection.module.css";

/** How long it may be away before the page speaks of it: a blink is no news. */
const QUIET_MS = 700;
const TEXTS: { readonly [S in Exclude<ConnectionState, "connected">]: TextKey } = {
  connecting: "run.connecting",
  reconnecting: "run.connection_reconnecting",
  restarting: "run.connection_restarting",
  lost: "run.connection_lost",
};

function Connection(): React.ReactNode {
  const t = useTexts();
  const { state, since } = useConnection();
  const said = useAnnouncement((announcement) => announcement.text);
  const wasAway = useRef(false);
  useEffect(connect, []);
  useEffect(() => {
    if (state === "connected") {
      if (wasAway.current) say(t("run.connection_back"), { kind: "good" });
      wasAway.current = false;
    } else if (state !== "connecting") wasAway.current = true;
  }, [state, t]);
  return (
    <>
      <div className={styles["said"]} role="status" aria-live="polite">{said}</div>
      {state !== "connected" && (
        <div className={`${styles["banner"]} ${styles[state] ?? ""}`} role="status" style={{ animationDelay: `${QUIET_MS}ms` }}>
          <span aria-hidden="true" className={styles["dot"]} />
          <span>{t(TEXTS[state])}</span>
          {state !== "connecting" && <span className={styles["since"]}>{t("run.connection_since", { time: clockText(since) })}</span>}
          {state !== "connecting" && <Button onClick={() => socket.retryNow()}>{t("run.connection_now")}</Button>}
        </div>
      )}
    </>
  );
}

const bar: Bar = { place: "right", order: 900, Component: Connection };
export default bar;
