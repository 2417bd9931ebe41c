/**
 * Pictures of unfinished results, the latest of each node: object URLs outside React's state, released when replaced.
 *
 * A component is told only when a picture comes where none was, or goes; later ones are put into its `<img>` directly.
 */

import { useSyncExternalStore } from "react";

interface Preview {
  url: string;
  /** The one before; kept until the next so that what is being decoded stays there. */
  previous: string | null;
}

const previews = new Map<string, Preview>();
const listeners = new Map<string, Set<() => void>>();
const images = new Map<string, Set<HTMLImageElement>>();

const keyOf = (job: string, node: string): string => `${job} ${node}`;

export function showPreview(job: string, node: string, bytes: Uint8Array): void {
  const key = keyOf(job, node);
  const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: "image/webp" })); // they came over the socket, which shares none
  const before = previews.get(key);
  if (before?.previous != null) URL.revokeObjectURL(before.previous);
  previews.set(key, { url, previous: before?.url ?? null });
  for (const image of images.get(key) ?? []) image.src = url;
  if (before === undefined) tell(key);
}

export function hidePreview(job: string, node: string): void {
  const key = keyOf(job, node);
  const found = previews.get(key);
  if (found === undefined) return;
  previews.delete(key);
  URL.revokeObjectURL(found.url);
  if (found.previous !== null) URL.revokeObjectURL(found.previous);
  tell(key);
}

export function hidePreviews(job: string): void {
  for (const key of [...previews.keys()]) {
    if (key.startsWith(keyOf(job, ""))) hidePreview(job, key.slice(keyOf(job, "").length));
  }
}

function tell(key: string): void {
  for (const listener of listeners.get(key) ?? []) listener();
}

/** For components: whether there is a picture. */
export function useHasPreview(job: string, node: string): boolean {
  const key = keyOf(job, node);
  return useSyncExternalStore(
    (listener) => enter(listeners, key, listener),
    () => previews.has(key),
  );
}

/** Keep an image showing the latest picture, until the returned function is called. */
export function attachPreview(job: string, node: string, image: HTMLImageElement): () => void {
  const key = keyOf(job, node);
  const url = previews.get(key)?.url;
  if (url !== undefined) image.src = url;
  return enter(images, key, image);
}

function enter<T>(table: Map<string, Set<T>>, key: string, item: T): () => void {
  const found = table.get(key) ?? new Set<T>();
  table.set(key, found.add(item));
  return () => {
    found.delete(item);
    if (found.size === 0) table.delete(key);
  };
}
