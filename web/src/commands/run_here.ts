import { runActive } from "../state/run";
import { activeDocument } from "../state/documents";
import { targetsOf } from "../state/targets";
import { selectedPaths } from "../state/selected";
import type { Command } from "./command";

const runHere: Command = {
  id: "run_here",
  title: "run.run_here",
  group: "run.group",
  keys: ["Mod+Shift+Enter"],
  whileTyping: true,
  enabled: () => selectedPaths().length > 0,
  run() {
    const document = activeDocument()?.history.document;
    if (document !== undefined) return runActive(targetsOf(document, selectedPaths()));
  },
};
export default runHere;
