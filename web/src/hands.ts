/** What somebody does by keys, by the clipboard and by finger. Its code, that of all commands, comes beside what is shown. */

import { listenToClipboard } from "./commands/clipboard_events";
import { listenToKeys } from "./commands/keyboard";
import { listenToTouches } from "./menus/longpress";

/** Listen from now on; the function that ends it. */
export function listenToHands(): () => void {
  const stops = [listenToKeys(), listenToClipboard(), listenToTouches()];
  return () => {
    for (const stop of stops) stop();
  };
}
