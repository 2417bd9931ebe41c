import { showVersions } from "../documents/actions";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const show_versions: Command = {
  id: "show_versions",
  title: "documents.versions",
  group: "documents.group",
  enabled: () => activeDocument()?.workflow != null,
  run: showVersions,
};
export default show_versions;
