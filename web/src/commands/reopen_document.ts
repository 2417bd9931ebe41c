import { reopenLast } from "../documents/actions";
import { useSaving } from "../state/saving";
import type { Command } from "./command";

const reopen_document: Command = {
  id: "reopen_document",
  title: "documents.reopen",
  group: "documents.group",
  keys: ["Alt+Shift+T"],
  enabled: () => useSaving.getState().closed.length > 0,
  run: reopenLast,
};
export default reopen_document;
