/**
 * Code that is fetched when it is first used, or before, while the page is idle (`prepareAll`): what has come once outlasts a
 * server that is away. What could not be fetched is asked for again the next time.
 */

import { type ComponentType, type FunctionComponent, type ReactNode, use } from "react";

const waiting = new Set<() => Promise<unknown>>();

/** A function that gives the code, fetching it the first time. */
export function later<Code>(load: () => Promise<Code>): () => Promise<Code> {
  let loading: Promise<Code> | null = null;
  const get = (): Promise<Code> => (loading ??= load().catch((error: unknown) => {
    loading = null;
    throw error;
  }));
  waiting.add(get);
  return get;
}

/**
 * A component whose code comes later. Unlike with React's `lazy` it is shown at once when its code is there: a key pressed
 * right after it was opened finds its field.
 */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  let Loaded: ComponentType<Props> | null = null;
  const get = later(async () => {
    Loaded = await load();
  });
  return function Lazily(props: Props): ReactNode {
    if (Loaded === null) use(get());
    return Loaded !== null && <Loaded {...props} />;
  };
}

const RETRY_MS = 1000;

/** What the page cannot do without: asked for until it is there. */
export async function persistently<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (error) {
    console.error("a part of the page has not come:", error);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    return persistently(load);
  }
}

/** Fetch all of it, one after the other. What cannot be fetched now is fetched when it is used. */
export async function prepareAll(): Promise<void> {
  for (const get of waiting) {
    await get().catch(() => undefined);
    waiting.delete(get);
  }
}
