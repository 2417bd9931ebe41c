/** The uploaded files as their panel shows them: pages, newest first. */

import { create } from "zustand";

import { deleteFile, listFiles } from "../api/client";
import type { Upload } from "../api/results";

interface Files {
  /** null while they are not known. */
  readonly files: readonly Upload[] | null;
  /** Cursor of the page that follows; null at the end. */
  readonly next: string | null;
  /** Ask for the first page again; the pages below are asked for anew when wanted. */
  load(): Promise<void>;
  more(): Promise<void>;
  remove(sha256: string): Promise<void>;
}

/** Counts askings for the first page: what was asked for before the last one is old. */
let asked = 0;
/** Lists on their way: they may still have a file that is deleted meanwhile. */
let waiting = 0;

export const useFiles = create<Files>()((set, get) => ({
  files: null,
  next: null,
  async load() {
    const number = ++asked;
    waiting += 1;
    const page = await listFiles().finally(() => (waiting -= 1));
    if (number === asked) set({ files: page.files, next: page.next });
  },
  async more() {
    const { next } = get();
    if (next === null) return;
    const number = asked;
    waiting += 1;
    const page = await listFiles({ cursor: next }).finally(() => (waiting -= 1));
    if (number === asked) set(({ files }) => {
      const known = new Set(files?.map((one) => one.sha256));
      return { files: [...(files ?? []), ...page.files.filter((one) => !known.has(one.sha256))], next: page.next };
    });
  },
  async remove(sha256) {
    await deleteFile(sha256);
    set(({ files }) => ({ files: files?.filter((one) => one.sha256 !== sha256) ?? null }));
    if (waiting > 0) await get().load().catch(() => undefined); // it is deleted: that no list came says somebody else
  },
}));

/** Look for new files, if somebody has looked at them before. That it failed is said when one looks again. */
export function refreshFiles(): void {
  if (useFiles.getState().files !== null) useFiles.getState().load().catch(() => undefined);
}
