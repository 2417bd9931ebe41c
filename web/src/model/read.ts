import type { WorkflowDocument } from "./document";

/** One reason why a text is refused; `message` says what was found, where, and what to do. */
export interface Flaw {
  readonly code: string;
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly line?: number;
  readonly column?: number;
  readonly node?: string;
  readonly port?: string;
}

export function readDocument(text: string): { document: WorkflowDocument } | { flaws: Flaw[] } {
  return { document: JSON.parse(text) as WorkflowDocument };
}
