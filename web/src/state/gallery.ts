/**
 * The results as the gallery shows them: pages of outputs, newest first, by a filter; stars; what was deleted.
 *
 * New results come by `refreshGallery()`: called when a job ends, and now and then while the gallery is seen.
 */

import { create } from "zustand";

import { deleteOutput, listOutputs, sentence, starOutput, unstarOutput } from "../api/client";
import type { Output, OutputFilter } from "../api/results";

interface Gallery {
  readonly filter: OutputFilter;
  readonly outputs: readonly Output[];
  /** Cursor of the page that follows; null at the end. */
  readonly next: string | null;
  readonly state: "new" | "loading" | "ready" | "failed";
  /** The sentence of what failed. */
  readonly problem: string;
  /** The picture that a second one will be compared with. */
  readonly compare: Output | null;
  setFilter(filter: OutputFilter): Promise<void>;
  more(): Promise<void>;
  refresh(): Promise<void>;
  star(id: string, starred: boolean): Promise<void>;
  remove(id: string): Promise<void>;
  setCompare(output: Output | null): void;
}

/** Counts filters: an answer to an older one is dropped. */
let asked = 0;
/** Counts stars and deletions: a list that was asked for before one does not know of it. */
let changes = 0;
/** Stars on their way, by output: one after the other, so that the last one counts. */
const starring = new Map<string, Promise<unknown>>();

export const useGallery = create<Gallery>()((set) => ({
  filter: {}, outputs: [], next: null, state: "new", problem: "", compare: null,
  setFilter(filter) {
    set({ filter, outputs: [], next: null });
    return first();
  },
  more,
  refresh,
  star,
  remove,
  setCompare: (compare) => set({ compare }),
}));

const { setState: set, getState: get } = useGallery;

function failed(error: unknown): void {
  set({ state: "failed", problem: sentence(error) });
}

async function first(): Promise<void> {
  const number = ++asked;
  const before = changes;
  set({ state: "loading", problem: "" });
  try {
    const page = await pageOf(get().filter);
    if (number !== asked) return;
    if (before !== changes) return await first();
    set({ outputs: page.outputs, next: page.next, state: "ready" });
  } catch (error) {
    if (number === asked) failed(error);
  }
}

async function more(): Promise<void> {
  const { next, state, filter } = get();
  if (next === null || state === "loading") return;
  const number = asked;
  set({ state: "loading" });
  try {
    const page = await pageOf(filter, next);
    if (number !== asked) return;
    set((now) => ({ outputs: [...now.outputs, ...fresh(now.outputs, page.outputs)], next: page.next, state: "ready" }));
  } catch (error) {
    if (number === asked) failed(error);
  }
}

async function refresh(): Promise<void> {
  const { state, filter } = get();
  if (state === "new" || state === "failed") return first();
  if (state === "loading") return;
  const number = asked;
  const before = changes;
  try {
    const page = await pageOf(filter);
    if (number === asked && before === changes) set((now) => withNewest(now, page));
  } catch {
    // The next refresh tries again; what is shown stays, and the page says elsewhere that the server is away.
  }
}

async function star(id: string, starred: boolean): Promise<void> {
  const mark = (value: boolean): void =>
    set((now) => ({ outputs: now.outputs.map((one) => (one.id === id ? { ...one, starred: value } : one)) }));
  mark(starred);
  changes += 1;
  const send = (): Promise<void> => (starred ? starOutput(id) : unstarOutput(id));
  const turn = (starring.get(id) ?? Promise.resolve()).then(send, send);
  starring.set(id, turn);
  try {
    await turn;
  } catch (error) {
    if (starring.get(id) === turn) mark(!starred);
    throw error;
  } finally {
    if (starring.get(id) === turn) starring.delete(id);
    changes += 1;
  }
}

async function remove(id: string): Promise<void> {
  await deleteOutput(id);
  changes += 1;
  set((now) => ({
    outputs: now.outputs.filter((one) => one.id !== id),
    compare: now.compare?.id === id ? null : now.compare,
  }));
}

/** Look for new results now. */
export function refreshGallery(): void {
  void useGallery.getState().refresh();
}

/** How many are asked for at once. */
const PER_PAGE = 60;

function pageOf(filter: OutputFilter, cursor: string | null = null): ReturnType<typeof listOutputs> {
  const set = Object.entries(filter).filter(([, value]) => value !== "" && value !== undefined);
  return listOutputs({ limit: PER_PAGE, ...Object.fromEntries(set), ...(cursor === null ? {} : { cursor }) });
}

function fresh(shown: readonly Output[], found: readonly Output[]): readonly Output[] {
  const ids = new Set(shown.map((one) => one.id));
  return found.filter((one) => !ids.has(one.id));
}

/**
 * What is shown, with the newest page looked at again: new ones in front, what is gone from it removed. If the whole page
 * is new, more may lie between, and the list begins again from that page.
 */
export function withNewest(
  shown: Pick<Gallery, "outputs" | "next">,
  page: { readonly outputs: readonly Output[]; readonly next: string | null },
): Pick<Gallery, "outputs" | "next"> {
  const known = new Set(shown.outputs.map((one) => one.id));
  const overlaps = page.outputs.some((one) => known.has(one.id));
  if (!overlaps || page.next === null) return same(shown.outputs, page.outputs) ? shown : { outputs: page.outputs, next: page.next };
  const oldest = page.outputs.at(-1);
  const at = shown.outputs.findIndex((one) => one.id === oldest?.id);
  if (at < 0) return { outputs: page.outputs, next: page.next };
  const rest = shown.outputs.slice(at + 1);
  const found = new Set(page.outputs.map((one) => one.id));
  const outputs = [...page.outputs, ...rest.filter((one) => !found.has(one.id))];
  return same(shown.outputs, outputs) ? shown : { outputs, next: shown.next };
}

function same(a: readonly Output[], b: readonly Output[]): boolean {
  return a.length === b.length && a.every((one, index) => one.id === b[index]?.id && one.starred === b[index]?.starred);
}
