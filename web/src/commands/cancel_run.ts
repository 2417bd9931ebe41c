import { cancelActive, isBusy } from "../state/run";
import type { Command } from "./command";

const cancelRun: Command = {
  id: "cancel_run",
  title: "run.cancel",
  group: "run.group",
  keys: ["Mod+."],
  whileTyping: true,
  enabled: isBusy,
  run: cancelActive,
};
export default cancelRun;
