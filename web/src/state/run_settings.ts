/** How this page runs: on each change, and how many at once. The count is kept in localStorage. */

import { create } from "zustand";

interface RunSettings {
  /** Whether each edit that can change a result runs the workflow. */
  readonly onChange: boolean;
  /** Jobs per click. */
  readonly count: number;
  set(settings: Partial<Omit<RunSettings, "set">>): void;
}

const KEY = "latentgraph.run_settings";
export const MOST_COUNT = 100;

function storedCount(): number {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    const count = typeof found === "object" && found !== null && "count" in found ? found.count : 1;
    return typeof count === "number" && Number.isInteger(count) && count >= 1 && count <= MOST_COUNT ? count : 1;
  } catch {
    return 1;
  }
}

export const useRunSettings = create<RunSettings>()((set, get) => ({
  onChange: false, // never on by surprise after a reload
  count: storedCount(),
  set(settings) {
    set(settings);
    try {
      const { count } = get();
      localStorage.setItem(KEY, JSON.stringify({ count }));
    } catch {
      // not kept then
    }
  },
}));
