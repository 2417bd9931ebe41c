import { runActive } from "../state/run";
import { selectedPaths } from "../state/selected";
import type { Command } from "./command";

const runHere: Command = {
  id: "run_here",
  title: "run.run_here",
  group: "run.group",
  keys: ["Mod+Shift+Enter"],
  whileTyping: true,
  enabled: () => selectedPaths().length > 0,
  run: () => runActive(selectedPaths()),
};
export default runHere;
