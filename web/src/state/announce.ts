/** What screen readers are told of runs: one sentence at a time, in the page's live region (`bars/Connection.tsx`). */

import { create } from "zustand";

export const useAnnouncement = create<{ readonly text: string }>()(() => ({ text: "" }));

export function announce(text: string): void {
  useAnnouncement.setState({ text });
}
