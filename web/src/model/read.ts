// stub: replaced by w-model
import type { WorkflowDocument } from "./document";

export interface Flaw {
  readonly place: string;
  readonly message: string;
}

export function readDocument(text: string): { document: WorkflowDocument } | { flaws: Flaw[] } {
  try {
    const value = JSON.parse(text) as WorkflowDocument;
    if (typeof value === "object" && value !== null && typeof value.nodes === "object") return { document: value };
    return { flaws: [{ place: "", message: "no workflow" }] };
  } catch (error) {
    return { flaws: [{ place: "", message: String(error) }] };
  }
}
