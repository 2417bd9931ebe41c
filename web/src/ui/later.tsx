/**
 * Parts of the page that are loaded when they are first shown, or before that when the page has nothing else to do: a server
 * that is away must not keep a panel from opening. One that cannot be loaded is tried again until it can.
 */

import { type ComponentType, type FunctionComponent, type ReactNode, use } from "react";

type Load<T> = () => Promise<T>;

const loads: Load<unknown>[] = [];
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

/**
 * A component that is loaded later. Unlike React's `lazy` it is shown at once when it is there: a key pressed right after it
 * was opened finds its field.
 */
export function later<Props extends object>(load: Load<{ readonly default: ComponentType<Props> }>): FunctionComponent<Props> {
  let Loaded: ComponentType<Props> | null = null;
  const get = onceMore(async () => {
    Loaded = (await load()).default;
  });
  let loading: Promise<void> | null = null;
  return function Later(props: Props): ReactNode {
    if (Loaded === null) use(loading ??= get());
    return Loaded !== null && <Loaded {...props} />;
  };
}

/** The same for what is no component. */
export function onceMore<T>(load: Load<T>): Load<T> {
  let loading: Promise<T> | null = null;
  const once = (): Promise<T> => (loading ??= load().catch((error: unknown) => {
    loading = null;
    throw error;
  }));
  loads.push(once);
  return async () => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await once();
      } catch (error) {
        console.warn("a part of the page could not be loaded:", error);
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
