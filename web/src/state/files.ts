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

export const useFiles = create<Files>()((set, get) => ({
  files: null,
  next: null,
  async load() {
    const page = await listFiles();
    set({ files: page.files, next: page.next });
  },
  async more() {
    const { next } = get();
    if (next === null) return;
    const page = await listFiles({ cursor: next });
    set(({ files }) => {
      const known = new Set(files?.map((one) => one.sha256));
      return { files: [...(files ?? []), ...page.files.filter((one) => !known.has(one.sha256))], next: page.next };
    });
  },
  async remove(sha256) {
    await deleteFile(sha256);
    set(({ files }) => ({ files: files?.filter((one) => one.sha256 !== sha256) ?? null }));
  },
}));

/** Look for new files, if somebody has looked at them before. That it failed is said when one looks again. */
export function refreshFiles(): void {
  if (useFiles.getState().files !== null) useFiles.getState().load().catch(() => undefined);
}
