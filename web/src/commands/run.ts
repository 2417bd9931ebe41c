import { activeDocument } from "../state/documents";
import { runActive } from "../state/run";
import type { Command } from "./command";

const run: Command = {
  id: "run",
  title: "run.command_run",
  group: "run.group",
  keys: ["Mod+Enter"],
  whileTyping: true,
  enabled: () => Object.keys(activeDocument()?.history.document.nodes ?? {}).length > 0,
  run: () => runActive(),
};
export default run;
