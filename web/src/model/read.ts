// stub: replaced by w-model
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
  try {
    const value = JSON.parse(text) as WorkflowDocument;
    if (typeof value === "object" && value !== null && typeof value.nodes === "object") return { document: value };
    return { flaws: [{ code: "format", path: [], message: "no workflow" }] };
  } catch (error) {
    return { flaws: [{ code: "json", path: [], message: String(error) }] };
  }
}
