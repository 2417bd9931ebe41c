/** The seed ports of a document, and the seeds that the last run used. */

import type { Catalogue, InputPort } from "../model/catalogue";
import type { Json, WorkflowDocument } from "../model/document";
import { heldPorts } from "../model/values";
import { useCatalogue } from "./catalogue";
import { useRuns, valuesSetFor } from "./runs";
import { useShown } from "./shown";
import { useDocuments } from "./documents";

export interface SeedPort {
  /** "node.port" or "instance/node.port". */
  readonly port: string;
  readonly value: Json | undefined;
}

function isSeed(port: InputPort): boolean {
  return port.hint?.hint === "seed";
}

/** The seed ports that hold a literal (or their default), in the document's order; those inside of instances too. */
export function seedPorts(document: WorkflowDocument, catalogue: Catalogue = useCatalogue.getState().catalogue): SeedPort[] {
  return heldPorts(document, catalogue).filter(({ port }) => isSeed(port)).map(({ reference, value }) => ({ port: reference, value }));
}

/** For components: the seed that the run shown used at a port, if it is not the one written in the document. */
export function useUsedSeed(path: string, port: string): number | null {
  const job = useShown((state) => state.job);
  const active = useDocuments((state) => state.active);
  const drawn = useShown((state) => state.run?.seeds[`${path}.${port}`]);
  const set = useRuns((state) => {
    const memory = state.drafts.get(active);
    return job === null || memory === undefined ? undefined : valuesSetFor(memory, job)[`${path}.${port}`];
  });
  return drawn ?? (typeof set === "number" ? set : null);
}
