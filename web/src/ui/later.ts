/**
 * Parts of the page that are loaded when they are first shown, or before that when the page has nothing else to do: a server
 * that is away must not keep a panel from opening. One that cannot be loaded is tried again until it can.
 */

import { type ComponentType, type LazyExoticComponent, lazy } from "react";

type Load<T> = () => Promise<T>;

const loads: Load<unknown>[] = [];
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

export function later<C extends ComponentType<any>>(load: Load<{ default: C }>): LazyExoticComponent<C> { // any, as React types it: properties are checked where it is used
  return lazy(onceMore(load));
}

/** The same for what is no component. */
export function onceMore<T>(load: Load<T>): Load<T> {
  loads.push(load);
  return async () => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await load();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  };
}

/** Load everything, one after the other, while the page is idle. */
export async function loadTheRest(): Promise<void> {
  for (const load of loads) {
    await new Promise<void>((resolve) => {
      if (typeof requestIdleCallback === "function") requestIdleCallback(() => resolve(), { timeout: 5_000 });
      else setTimeout(resolve, 200);
    });
    await load().catch(() => undefined); // it is tried again when it is shown
  }
}
