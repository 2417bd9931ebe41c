import { chooseOutput, showValue } from "../panels/outputs";
import { selectedPaths } from "../state/selected";
import { useShown } from "../state/shown";
import type { Command } from "./command";

const lookAtOutput: Command = {
  id: "look_at_output",
  title: "run.command_look",
  group: "run.group",
  keys: ["Shift+V"],
  enabled: () => selectedPaths().length === 1 && useShown.getState().job !== null,
  run: () => chooseOutput(showValue),
};
export default lookAtOutput;
