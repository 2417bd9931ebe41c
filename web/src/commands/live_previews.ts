import { useRunSettings } from "../state/run_settings";
import type { Command } from "./command";

const livePreviews: Command = {
  id: "live_previews",
  title: "run.previews",
  group: "run.group",
  run: () => useRunSettings.getState().set({ previews: !useRunSettings.getState().previews }),
};
export default livePreviews;
