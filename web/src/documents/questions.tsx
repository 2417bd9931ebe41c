/** Dialogs that come by themselves: no session, and two contents of one document. Each is called once. */

import { useSession } from "../api/session";
import { type Conflict, useConflicts } from "../state/conflicts";
import { showDialog } from "../ui/dialogs";
import { ConflictDialog, SessionPage } from "./later";

/** Shows the page over everything as long as there is no session. */
export function showSession(): () => void {
  let close: (() => void) | null = null;
  const look = (state: string): void => {
    if (state === "none") close ??= showDialog(<SessionPage />);
    else if (state === "open") {
      close?.();
      close = null;
    }
  };
  look(useSession.getState().state);
  return useSession.subscribe(({ state }) => look(state));
}

/** Shows a dialog for each question as it comes up. */
export function showConflicts(): () => void {
  const shown = new Map<Conflict, () => void>();
  const look = (asked: readonly Conflict[]): void => {
    for (const [one, close] of shown) {
      if (asked.includes(one)) continue;
      shown.delete(one);
      close();
    }
    for (const one of asked) if (!shown.has(one)) shown.set(one, showDialog(<ConflictDialog conflict={one} />));
  };
  look(useConflicts.getState().asked);
  return useConflicts.subscribe((state) => look(state.asked));
}
