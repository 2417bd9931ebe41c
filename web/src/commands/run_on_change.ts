import { useRunSettings } from "../state/run_settings";
import type { Command } from "./command";

const runOnChange: Command = {
  id: "run_on_change",
  title: "run.on_change",
  group: "run.group",
  run: () => useRunSettings.getState().set({ onChange: !useRunSettings.getState().onChange }),
};
export default runOnChange;
