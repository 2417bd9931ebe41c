import { chooseOutput } from "../panels/outputs";
import { runActive } from "../state/run";
import { selectedPaths } from "../state/selected";
import type { Command } from "./command";

const runOutput: Command = {
  id: "run_output",
  title: "run.run_output",
  group: "run.group",
  enabled: () => selectedPaths().length === 1,
  run: () => chooseOutput((path, port) => void runActive([`${path}.${port}`])),
};
export default runOutput;
