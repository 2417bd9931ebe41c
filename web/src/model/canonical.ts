// stub: replaced by w-model
import type { WorkflowDocument } from "./document";

export function writeDocument(document: WorkflowDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
