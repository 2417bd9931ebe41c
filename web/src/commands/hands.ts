/** What somebody does by keys, by the clipboard and by finger. Its code, that of all commands, comes beside what is shown. */

import { listenToTouches } from "../menus/longpress";
import { listenToClipboard } from "./clipboard_events";
import { listenToKeys } from "./keyboard";

/** Listen from now on; the function that ends it. */
export function listenToHands(): () => void {
  const stops = [listenToKeys(), listenToClipboard(), listenToTouches()];
  return () => {
    for (const stop of stops) stop();
  };
}
