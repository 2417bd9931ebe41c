import { showSweepDialog } from "../panels/outputs";
import { activeDocument } from "../state/documents";
import type { Command } from "./command";

const sweep: Command = {
  id: "sweep",
  title: "run.command_sweep",
  group: "run.group",
  enabled: () => Object.keys(activeDocument()?.history.document.nodes ?? {}).length > 0,
  run: showSweepDialog,
};
export default sweep;
