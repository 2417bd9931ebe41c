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

/** What `b` has that `a` has not, and the other way round; the order of members counts for nothing. */
export function differences(a: WorkflowDocument, b: WorkflowDocument): Difference[] {
  throw new Error(`soon: ${a.format} ${b.format}`);
}
