/** What happens once when the page is opened: the session, the node types, and everything that was open is open again. */

import { beginSession, whenSession } from "./api/session";
import { showConflicts } from "./documents/Conflicts";
import { showSession } from "./documents/SessionPage";
import { useCatalogue } from "./state/catalogue";
import { keepCurrent } from "./state/current";
import { restoreOrBegin } from "./state/restoring";
import { startSaving } from "./state/saving";
import { resumeSubmissions } from "./state/submit";
import { loadTheRest } from "./ui/later";

export async function start(): Promise<void> {
  showSession();
  showConflicts();
  startSaving();
  void beginSession();
  await whenSession();
  void useCatalogue.getState().load();
  await restoreOrBegin();
  keepCurrent();
  void loadTheRest();
  await resumeSubmissions();
}
