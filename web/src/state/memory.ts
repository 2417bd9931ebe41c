/**
 * What this browser remembers of each draft's runs, so that a reload resumes them: its jobs, sweeps and the run it shows.
 *
 * Kept in localStorage; a full or forbidden store costs only the resuming.
 */

import type { Json, JsonObject } from "../model/document";

export interface RememberedJob {
  readonly id: string;
  /** Jobs sent together have the same. */
  readonly batch: string;
  /** Values that were set for this job alone, by port ("node.port"). */
  readonly set: JsonObject;
}

export interface SweepAxis {
  /** "node.port"; several where a named input goes to several. */
  readonly ports: readonly string[];
  readonly label: string;
  readonly values: readonly Json[];
}

export interface Sweep {
  readonly id: string;
  readonly created: number;
  readonly axes: readonly SweepAxis[];
  /** Job ids, first axis first; null: not accepted yet. */
  readonly jobs: readonly (string | null)[];
}

export interface DraftMemory {
  /** The newest last. */
  readonly jobs: readonly RememberedJob[];
  /** The job that this draft was opened from ("open as run"). */
  readonly opened: string | null;
  readonly sweeps: readonly Sweep[];
}

const PREFIX = "latentgraph.runs.";
const MOST_DRAFTS = 60;
const MOST_JOBS = 200;
const MOST_SWEEPS = 5;
export const NOTHING_REMEMBERED: DraftMemory = { jobs: [], opened: null, sweeps: [] };

export function remembered(draft: string): DraftMemory {
  try {
    const text = localStorage.getItem(PREFIX + draft);
    if (text === null) return NOTHING_REMEMBERED;
    const found = { ...NOTHING_REMEMBERED, ...(JSON.parse(text) as Partial<DraftMemory>) }; // we wrote it, unless it is damaged
    return Array.isArray(found.jobs) && Array.isArray(found.sweeps) ? found : NOTHING_REMEMBERED;
  } catch {
    return NOTHING_REMEMBERED;
  }
}

export function remember(draft: string, memory: DraftMemory): DraftMemory {
  const kept = { ...memory, jobs: memory.jobs.slice(-MOST_JOBS), sweeps: memory.sweeps.slice(-MOST_SWEEPS) };
  try {
    localStorage.setItem(PREFIX + draft, JSON.stringify(kept));
    prune();
  } catch {
    // the store is full or forbidden: runs are still shown until the page is loaded again
  }
  return kept;
}

function prune(): void {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  if (keys.length <= MOST_DRAFTS) return;
  const newest = (key: string): string => remembered(key.slice(PREFIX.length)).jobs.at(-1)?.id ?? "";
  keys.sort((a, b) => (newest(a) < newest(b) ? -1 : 1)); // ids of jobs sort by time
  for (const key of keys.slice(0, keys.length - MOST_DRAFTS)) localStorage.removeItem(key);
}
