import type { WorkflowDocument } from "./document";

/** The canonical text of a document, byte for byte what the server writes. */
export function writeDocument(document: WorkflowDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
