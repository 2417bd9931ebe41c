/**
 * Jobs that were asked for and not accepted yet, in this browser's IndexedDB: a reload sends them again, with the same key.
 *
 * Each belongs to the page that sends it; those of pages that are gone are taken over by the next one. That two pages take
 * the same is no harm: the key makes it one job. A browser that keeps nothing costs only the surviving of a reload.
 */

import { createStore, del, entries, update } from "idb-keyval";

import { PAGE, openPages } from "./mirror";

export interface Kept<T> {
  readonly key: string;
  /** When it was asked for, milliseconds since 1970. */
  readonly since: number;
  /** Its place among those asked for together. */
  readonly at: number;
  readonly order: T;
}

interface Entry<T> extends Kept<T> {
  readonly page: string;
}

/** The server knows a key for 24 hours; one that is sent later could be a second job. */
const LONGEST_MS = 20 * 3600 * 1000;

let opened: ReturnType<typeof createStore> | undefined;

function store(): ReturnType<typeof createStore> {
  opened ??= createStore("latentgraph-outbox", "jobs");
  return opened;
}

/** What is done with the store happens one after the other, so that what is dropped at once is not kept again. */
let line: Promise<unknown> = Promise.resolve();

function inLine(step: () => Promise<unknown>): Promise<void> {
  const done = line.then(step).then(() => {}, () => {
    opened = undefined; // full or forbidden: tried anew with the next one
  });
  line = done;
  return done;
}

export function keepOrders<T>(orders: readonly Kept<T>[]): Promise<void> {
  return inLine(() => Promise.all(orders.map((one) => update<Entry<T>>(one.key, () => ({ ...one, page: PAGE }), store()))));
}

export function dropOrder(key: string): Promise<void> {
  return inLine(() => del(key, store()));
}

/** Those of pages that are gone, in the order they were asked for; they are this page's from now on. */
export async function takeOrders<T>(): Promise<Kept<T>[]> {
  const found: Kept<T>[] = [];
  await inLine(async () => {
    const [all, pages] = await Promise.all([entries<string, Entry<T>>(store()), openPages()]);
    const left = all.map(([, one]) => one).filter((one) => one.page !== PAGE && !pages.has(one.page));
    for (const { page: _page, ...one } of left) {
      if (Date.now() - one.since > LONGEST_MS) await del(one.key, store());
      else found.push(one);
    }
    await Promise.all(found.map((one) => update<Entry<T>>(one.key, () => ({ ...one, page: PAGE }), store())));
  });
  return found.sort((a, b) => a.since - b.since || a.at - b.at);
}
