/** Which job's full record is shown in the queue panel. */

import { create } from "zustand";

import { useLayout } from "./layout";

export const useLog = create<{ readonly job: string | null }>()(() => ({ job: null }));

/** Open the queue panel at a job, with its problem document. */
export function showJob(job: string): void {
  useLog.setState({ job });
  useLayout.getState().show("right", "queue");
}
