/** What happens once when the page is opened: the session, the node types, and everything that was open is open again. */

import { beginSession, whenSession } from "./api/session";
import { showConflicts, showSession } from "./documents/questions";
import { hands } from "./later";
import { useCatalogue } from "./state/catalogue";
import { keepCurrent } from "./state/current";
import { restoreOrBegin } from "./state/restoring";
import { startSaving } from "./state/saving";
import { resumeSubmissions } from "./state/submit";

export async function start(): Promise<void> {
  showSession();
  showConflicts();
  startSaving();
  void beginSession();
  await whenSession();
  void useCatalogue.getState().load();
  await hands(); // whoever sees a workflow can use the keys
  await restoreOrBegin();
  keepCurrent();
  await resumeSubmissions();
}
