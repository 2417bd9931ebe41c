// stub: replaced by w-model
import type { Json, WorkflowDocument } from "./document";

export interface Difference {
  readonly kind: "added" | "removed" | "changed";
  readonly what: "node" | "type" | "input" | "state" | "named_input" | "named_output" | "subgraph" | "fact" | "view";
  /** Where: "nodes.sampler.inputs.steps", "subgraphs.up.nodes.x". */
  readonly path: string;
  /** The subgraph it lies in; "" for the document itself. */
  readonly scope: string;
  readonly node?: string;
  readonly port?: string;
  readonly before?: Json;
  readonly after?: Json;
}

export function differences(a: WorkflowDocument, b: WorkflowDocument): Difference[] {
  return a === b ? [] : [];
}
