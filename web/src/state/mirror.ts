/**
 * What this browser keeps of the open documents until the server has it, and which tabs are open: in IndexedDB.
 *
 * Each page writes under its own name, so that two pages with one draft do not overwrite each other's. Writing is one at a
 * time per draft, the newest last. A browser that keeps nothing (private windows, a full disk) is told by `isMirroring`.
 */

import { createStore, del, entries, get, set } from "idb-keyval";

import type { WorkflowDocument } from "../model/document";

/** What is kept of a document. */
export interface Content {
  readonly document: WorkflowDocument;
  readonly workflow: string | null;
  readonly base: string | null;
  /** Whether its tab was closed: it is kept, and not opened again by itself. */
  readonly closed: boolean;
}

export interface Mirror extends Content {
  readonly id: string;
  readonly page: string;
  /** When it was written, in seconds since 1970. */
  readonly time: number;
  /** The server's draft that it follows on; null: there was none. */
  readonly etag: string | null;
  /** What was sent and not answered yet: the server may have any one of them. */
  readonly sent: readonly WorkflowDocument[];
}

export interface Tab {
  readonly id: string;
  readonly workflow: string | null;
  /** The template it was opened from, as long as it is unchanged. */
  readonly template: string | null;
}

export interface Tabs {
  readonly tabs: readonly Tab[];
  readonly active: string;
  /** Drafts that were closed: they are listed, and not opened again by themselves. */
  readonly closed: readonly string[];
}

/** Name of this page, as long as it is loaded. */
export const PAGE = Math.random().toString(36).slice(2, 12);

const TABS = "tabs";
const prefix = "mirror:";
const keyOf = (id: string, page: string): string => `${prefix}${id}:${page}`;

let opened: ReturnType<typeof createStore> | undefined;
let works = true;

function store(): ReturnType<typeof createStore> {
  opened ??= createStore("latentgraph", "documents");
  return opened;
}

/** Whether the last thing that was to be kept in this browser is. */
export function isMirroring(): boolean {
  return works;
}

/** The next thing to do with each key, and what is being done. */
const next = new Map<string, () => Promise<void>>();
const running = new Map<string, Promise<void>>();

/** Do this with a key once what is under way is done; what waited for the same key is not done any more. */
function queue(key: string, step: () => Promise<void>): Promise<void> {
  next.set(key, step);
  let loop = running.get(key);
  if (loop === undefined) {
    loop = drain(key).finally(() => running.delete(key));
    running.set(key, loop);
  }
  return loop;
}

async function drain(key: string): Promise<void> {
  for (let step = next.get(key); step !== undefined; step = next.get(key)) {
    next.delete(key);
    try {
      await step();
      works = true;
    } catch {
      works = false;
      opened = undefined;
    }
  }
}

/** Keep this until it is dropped; resolves when it is there (or `isMirroring` is false). */
export function keepMirror(mirror: Omit<Mirror, "page" | "time">): Promise<void> {
  const key = keyOf(mirror.id, PAGE);
  return queue(key, () => set(key, { ...mirror, page: PAGE, time: Date.now() / 1000 } satisfies Mirror, store()));
}

/** The server has it. */
export function dropMirror(id: string, page: string = PAGE): Promise<void> {
  const key = keyOf(id, page);
  return queue(key, () => del(key, store()));
}

/** Everything that pages kept and the server did not acknowledge, the newest first. */
export async function readMirrors(): Promise<readonly Mirror[]> {
  try {
    const all = await entries<string, unknown>(store());
    const found = all.filter(([key]) => key.startsWith(prefix)).map(([, value]) => value as Mirror); // we wrote it
    return found.sort((a, b) => b.time - a.time);
  } catch {
    works = false;
    return [];
  }
}

export function keepTabs(tabs: Tabs): Promise<void> {
  return queue(TABS, () => set(TABS, tabs, store()));
}

/** The tabs of this browser; null before any were kept. */
export async function readTabs(): Promise<Tabs | null> {
  try {
    return (await get<Tabs>(TABS, store())) ?? null;
  } catch {
    works = false;
    return null;
  }
}

/**
 * Names of the pages that are open now, besides this one; empty where the browser does not tell (without https). A mirror
 * of an open page is its own business: it is still sending it.
 */
export async function openPages(): Promise<ReadonlySet<string>> {
  const held = (await locks()?.query())?.held ?? [];
  const names = held.map((lock) => lock.name ?? "").filter((name) => name.startsWith("page:"));
  return new Set(names.map((name) => name.slice("page:".length)).filter((name) => name !== PAGE));
}

/** Let other pages know that this one is open, until it is closed. */
export function showOpen(): void {
  void locks()?.request(`page:${PAGE}`, () => new Promise(() => {}));
}

/** There only in a secure context, whatever the types say. */
function locks(): LockManager | null {
  return (navigator.locks as LockManager | undefined) ?? null;
}
