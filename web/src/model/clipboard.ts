import type { ScopeId, WorkflowDocument } from "./document";
import type { Edit } from "./history";
import type { Point } from "./looks";

/** The chosen items of a scope as a workflow document of their own, with the subgraphs they need. */
export function copyFragment(document: WorkflowDocument, scope: ScopeId, ids: Iterable<string>): WorkflowDocument {
  throw new Error(`soon: ${document.format} ${scope} ${[...ids].length}`);
}

/** The edit that pastes a fragment with its upper left corner `at`; `ids(document)`: the items it gives, for the document before or after it. */
export function pasteFragment(
  scope: ScopeId, fragment: WorkflowDocument, at: Point, { withLinks }: { withLinks: boolean },
): { edit: Edit; ids(document: WorkflowDocument): string[] } {
  throw new Error(`soon: ${scope} ${fragment.format} ${at.x} ${withLinks}`);
}
