/**
 * Undo and redo of one document: one step per gesture, whole documents that share what did not change.
 *
 * Selection and viewport are no part of it. Knows nothing of what the edits mean.
 */

import type { WorkflowDocument } from "./document";
import { sameJson } from "./same";

/** How many steps are kept. */
const MOST_STEPS = 500;

export interface Step {
  /** What the step did, as shown in the menu: a key of `texts`. */
  readonly title: string;
  /** The document before it (in `past`) or after it (in `future`). */
  readonly document: WorkflowDocument;
  /** Edits with the same gesture, one directly after the other, are one step. */
  readonly gesture: string | null;
}

export interface History {
  readonly document: WorkflowDocument;
  readonly past: readonly Step[];
  readonly future: readonly Step[];
}

export type Edit = (document: WorkflowDocument) => WorkflowDocument;

export function begin(document: WorkflowDocument): History {
  return { document, past: [], future: [] };
}

/** The history after an edit; the same object if the edit changed nothing. */
export function applied(history: History, title: string, edit: Edit, gesture: string | null = null): History {
  const document = edit(history.document);
  if (document === history.document) return history;
  const last = history.past.at(-1);
  if (gesture !== null && last?.gesture === gesture && history.future.length === 0) {
    // A gesture that came back to where it began, as a value that Escape took back, is no step.
    if (sameJson(document, last.document)) return { document: last.document, past: history.past.slice(0, -1), future: [] };
    return { document, past: history.past, future: [] };
  }
  const step: Step = { title, document: history.document, gesture };
  return { document, past: [...history.past, step].slice(-MOST_STEPS), future: [] };
}

export function undone(history: History): History {
  const step = history.past.at(-1);
  if (step === undefined) return history;
  return {
    document: step.document,
    past: history.past.slice(0, -1),
    future: [...history.future, { title: step.title, document: history.document, gesture: null }],
  };
}

export function redone(history: History): History {
  const step = history.future.at(-1);
  if (step === undefined) return history;
  return {
    document: step.document,
    past: [...history.past, { title: step.title, document: history.document, gesture: null }],
    future: history.future.slice(0, -1),
  };
}
