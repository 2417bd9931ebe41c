/** Two contents of one document, and somebody has to say which counts. `documents/Conflicts.tsx` asks. */

import { create } from "zustand";

import type { WorkflowDocument } from "../model/document";

/** "both": theirs stays where it is, mine becomes a document of its own. */
export type Choice = "mine" | "theirs" | "both";

export interface Conflict {
  /** One question per key: a newer one takes the place of the older. */
  readonly key: string;
  readonly name: string;
  /** Who else: another page with the same draft, or whoever wrote the saved workflow. */
  readonly with: "page" | "file";
  readonly mine: () => WorkflowDocument;
  readonly theirs: WorkflowDocument;
  /** When theirs was written, in seconds since 1970. */
  readonly time: number;
  answer(choice: Choice): void | Promise<void>;
}

interface Conflicts {
  readonly asked: readonly Conflict[];
  /** Closed without an answer: it is shown that there is a question, and asked again when it is wanted. */
  readonly putAside: readonly Conflict[];
  ask(conflict: Conflict): void;
  putOff(key: string): void;
  /** Ask what was put off. */
  again(key: string): void;
  answer(key: string, choice: Choice): Promise<void>;
  withdraw(key: string): void;
}

const without = (list: readonly Conflict[], key: string): readonly Conflict[] => list.filter((one) => one.key !== key);

export const useConflicts = create<Conflicts>()((set, get) => ({
  asked: [],
  putAside: [],
  ask: (conflict) =>
    set((state) => ({ asked: [...without(state.asked, conflict.key), conflict], putAside: without(state.putAside, conflict.key) })),
  putOff: (key) =>
    set((state) => ({
      asked: without(state.asked, key),
      putAside: [...without(state.putAside, key), ...state.asked.filter((one) => one.key === key)],
    })),
  again(key) {
    const found = get().putAside.find((one) => one.key === key);
    if (found !== undefined) get().ask(found);
  },
  async answer(key, choice) {
    const found = [...get().asked, ...get().putAside].find((one) => one.key === key);
    get().withdraw(key);
    await found?.answer(choice);
  },
  withdraw: (key) => set((state) => ({ asked: without(state.asked, key), putAside: without(state.putAside, key) })),
}));
