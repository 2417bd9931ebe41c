import { usePreferences } from "../state/preferences";
import type { Command } from "./command";

const resultsInPlace: Command = {
  id: "results_in_place",
  title: "run.results",
  group: "run.group",
  run: () => usePreferences.getState().set({ results: !usePreferences.getState().results }),
};
export default resultsInPlace;
