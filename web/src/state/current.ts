/**
 * Keeps the page as the server is now: saved workflows when it tells of a change, drafts of other pages every few seconds,
 * and everything when the connection comes back.
 */

import { useSession } from "../api/session";
import type { SocketEvent } from "../api/socket";
import { reload } from "./catalogue";
import { onConnected, onSocketEvents, useConnection } from "./connection";
import { saveNow } from "./saving";
import { refresh } from "./workflows";

const DRAFTS_MS = 5_000;
/** Should a change have been missed: all is asked for so often all the same. */
const ALL_MS = 60_000;

let askedAllAt = 0;

/** From now on, when everything that was open is open again; until the returned function is called. */
export function keepCurrent(): () => void {
  const stops = [onConnected(comeBack), onSocketEvents(takeChanges)];
  const timer = setInterval(look, DRAFTS_MS);
  document.addEventListener("visibilitychange", look);
  void refreshAll();
  return () => {
    for (const stop of stops) stop();
    clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

function look(): void {
  if (document.visibilityState !== "visible" || useSession.getState().state !== "open") return;
  const isTold = useConnection.getState().state === "connected" && Date.now() - askedAllAt < ALL_MS;
  void (isTold ? refresh("drafts") : refreshAll());
}

function refreshAll(): Promise<void> {
  askedAllAt = Date.now();
  return refresh();
}

/** The server was away: it gets what it missed at once, and may know other node types and workflows. */
function comeBack(): void {
  void saveNow();
  void reload();
  void refreshAll();
}

function takeChanges(events: readonly SocketEvent[]): void {
  if (events.some((event) => event.event === "workflows")) void refreshAll();
}
