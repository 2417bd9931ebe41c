/** Where one looked last in each document, kept in this browser. */

import type { Viewport } from "./documents";

const KEY = "latentgraph.cameras";
const MOST = 100;

type Kept = { [place: string]: readonly [x: number, y: number, zoom: number] };

export function rememberCamera(document: string, path: readonly string[], { x, y, zoom }: Viewport): void {
  const place = placeOf(document, path);
  const { [place]: _, ...others } = read();
  const all: Kept = { ...others, [place]: [Math.round(x), Math.round(y), Math.round(zoom * 1000) / 1000] };
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-MOST))));
  } catch {
    // storage that is closed or full: everything is shown instead
  }
}

export function rememberedCamera(document: string, path: readonly string[]): Viewport | undefined {
  const found = read()[placeOf(document, path)];
  if (!Array.isArray(found)) return undefined;
  const [x, y, zoom]: readonly unknown[] = found;
  return typeof x === "number" && typeof y === "number" && typeof zoom === "number" && zoom > 0 ? { x, y, zoom } : undefined;
}

function placeOf(document: string, path: readonly string[]): string {
  return [document, ...path].join("/");
}

function read(): Kept {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof found === "object" && found !== null ? (found as Kept) : {}; // places are looked at as they are taken
  } catch {
    return {};
  }
}
