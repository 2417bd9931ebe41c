/** What a document needs and this machine does not have. Pure. */

import type { Catalogue } from "../model/catalogue";
import type { WorkflowDocument } from "../model/document";

export interface Missing {
  readonly types: readonly string[];
  readonly models: readonly string[];
}

const NOTHING: Missing = { types: [], models: [] };

/** Node types and models that are not there; nothing as long as it is not known what there is (`models` null). */
export function missingIn(document: WorkflowDocument, catalogue: Catalogue, models: ReadonlySet<string> | null): Missing {
  if (catalogue.version === "") return NOTHING;
  const types = new Set<string>();
  const wanted = new Set<string>();
  for (const scope of [document, ...Object.values(document.subgraphs ?? {})]) {
    for (const node of Object.values(scope.nodes)) {
      if (node.type.startsWith("#")) continue;
      const type = catalogue.types.get(node.type);
      if (type === undefined) types.add(node.type);
      for (const port of type?.inputs ?? []) {
        const value = node.inputs[port.name];
        if (port.hint?.hint === "model" && typeof value === "string" && models !== null && !models.has(value)) wanted.add(value);
      }
    }
  }
  return { types: [...types].sort(), models: [...wanted].sort() };
}

/** The packs that missing node types are of: "pack/name". */
export function packsOf(types: readonly string[]): readonly string[] {
  return [...new Set(types.flatMap((type) => (type.includes("/") ? [type.slice(0, type.indexOf("/"))] : [])))];
}
