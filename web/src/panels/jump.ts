/** Show a node on the canvas, wherever it is: its scope is entered, it is selected and brought into view. */

import { COMMANDS } from "../commands/registry";
import { useDocuments } from "../state/documents";

export function jumpToNode(path: string): void {
  const steps = path.split("/");
  const id = steps.pop();
  if (id === undefined) return;
  useDocuments.getState().enter(steps);
  useDocuments.getState().select([id]);
  void COMMANDS.get("zoom_selection")?.run();
}
