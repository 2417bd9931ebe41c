/** How this page runs: live previews, run on change, how many at once. Kept in localStorage. */

import { create } from "zustand";

interface RunSettings {
  /** Whether pictures of unfinished results are shown. */
  readonly previews: boolean;
  /** Whether each edit that can change a result runs the workflow. */
  readonly onChange: boolean;
  /** Jobs per click. */
  readonly count: number;
  set(settings: Partial<Omit<RunSettings, "set">>): void;
}

const KEY = "latentgraph.run_settings";
export const MOST_COUNT = 100;

function stored(): Partial<RunSettings> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<RunSettings>;
  } catch {
    return {};
  }
}

export const useRunSettings = create<RunSettings>()((set, get) => ({
  previews: stored().previews ?? true,
  onChange: false, // never on by surprise after a reload
  count: stored().count ?? 1,
  set(settings) {
    set(settings);
    try {
      const { previews, count } = get();
      localStorage.setItem(KEY, JSON.stringify({ previews, count }));
    } catch {
      // not kept then
    }
  },
}));
