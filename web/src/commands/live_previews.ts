import { usePreferences } from "../state/preferences";
import type { Command } from "./command";

const livePreviews: Command = {
  id: "live_previews",
  title: "run.previews",
  group: "run.group",
  run: () => usePreferences.getState().set({ previews: !usePreferences.getState().previews }),
};
export default livePreviews;
