/** Which panels are shown, one at each side at most. */

import { create } from "zustand";

interface Layout {
  readonly left: string | null;
  readonly right: string | null;
  /** Show a panel, or hide it if it is shown. */
  toggle(side: "left" | "right", id: string): void;
  show(side: "left" | "right", id: string | null): void;
}

export const useLayout = create<Layout>()((set) => ({
  left: null,
  right: null,
  toggle: (side, id) => set((state) => ({ [side]: state[side] === id ? null : id })),
  show: (side, id) => set({ [side]: id }),
}));
