/** Which job's picture stands below a node: that of the last run that made one, until the next has made its own. */

import { create } from "zustand";

import { useDocuments } from "./documents";
import { isFinal } from "./run_events";
import { useShown } from "./shown";

type Jobs = ReadonlyMap<string, string>;

interface Pictures {
  /** By document, then by run id of the node. */
  readonly jobs: ReadonlyMap<string, Jobs>;
}

const usePictures = create<Pictures>()(() => ({ jobs: new Map() }));

function take(): void {
  const { job, run } = useShown.getState();
  const { active, open } = useDocuments.getState();
  if (job === null || run === undefined || run.id !== job || !isFinal(run.state)) return;
  const before = usePictures.getState().jobs;
  const known = before.get(active);
  const made = [...run.rows.values()].filter((row) => (row.state === "done" || row.state === "cached") && known?.get(row.id) !== job);
  if (made.length === 0) return;
  const still = new Set(open.map((one) => one.id));
  const jobs = new Map([...before].filter(([document]) => still.has(document)));
  jobs.set(active, new Map([...(known ?? []), ...made.map((row) => [row.id, job] as const)]));
  usePictures.setState({ jobs });
}

/** For components: the job whose picture a node of the active document shows; null for none. */
export function usePictureJob(path: string): string | null {
  const active = useDocuments((state) => state.active);
  return usePictures((state) => state.jobs.get(active)?.get(path) ?? null);
}

/** How a picture stands to its node as it is now: "before": a run is on its way to the next. */
export type Age = "now" | "before" | "old";

export function usePictureAge(path: string, job: string | null): Age {
  return useShown((state) => {
    if (state.stale?.has(path) === true) return "old";
    const row = state.run?.rows.get(path);
    return state.job === job || row?.state === "cached" ? "now" : "before";
  });
}

useShown.subscribe(take);
take();
