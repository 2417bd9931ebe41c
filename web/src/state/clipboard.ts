/**
 * What is pasted onto the page, and who takes it.
 *
 * Handlers are asked in order; the first that says true has taken it. Workflow text is taken here
 * (`commands/paste.ts`); pictures, files and other text by whoever adds a handler.
 */

import type { Point } from "./palette";

export interface Pasted {
  /** "" for none. */
  readonly text: string;
  readonly files: readonly File[];
  /** Where on the canvas, in the document's units. */
  readonly at: Point;
  /** Whether links from outside what was copied are made again (Ctrl+Shift+V). */
  readonly withLinks: boolean;
}

/** Whether it was taken. */
export type PasteHandler = (pasted: Pasted) => boolean | Promise<boolean>;

export const pasteHandlers: PasteHandler[] = [];

/** Offer it to the handlers; whether one took it. */
export async function offer(pasted: Pasted): Promise<boolean> {
  for (const handler of pasteHandlers) if (await handler(pasted)) return true;
  return false;
}
