/** The seed ports of a document, and the seeds that the last run used. */

import type { InputPort, NodeType } from "../model/catalogue";
import { type Json, type WorkflowDocument, isLink } from "../model/document";
import { useCatalogue } from "./catalogue";
import { useRuns, valuesSetFor } from "./runs";
import { useShown } from "./shown";
import { useDocuments } from "./documents";

export interface SeedPort {
  /** "node.port". */
  readonly port: string;
  readonly value: Json | undefined;
}

function isSeed(port: InputPort): boolean {
  return port.hint?.hint === "seed";
}

/** The seed ports of the document's own nodes that hold a literal (or their default), in its order. */
export function seedPorts(document: WorkflowDocument, types: ReadonlyMap<string, NodeType> = useCatalogue.getState().catalogue.types): SeedPort[] {
  return Object.entries(document.nodes).flatMap(([id, node]) => {
    if (node.state === "muted") return [];
    const own = types.get(node.type)?.inputs.filter(isSeed).map((port) => ({ name: port.name, otherwise: port.default })) ?? ofInstance(document, node.type, types);
    return own
      .map(({ name, otherwise }) => ({ port: `${id}.${name}`, value: node.inputs[name] ?? otherwise }))
      .filter(({ value }) => !isLink(value));
  });
}

/** Seeds that an instance of a subgraph takes through its interface. */
function ofInstance(document: WorkflowDocument, type: string, types: ReadonlyMap<string, NodeType>): { name: string; otherwise: Json | undefined }[] {
  const scope = type.startsWith("#") ? document.subgraphs?.[type.slice(1)] : undefined;
  return Object.entries(scope?.inputs ?? {}).flatMap(([name, input]) => {
    const to = typeof input.to === "string" ? input.to : input.to[0];
    const [inner = "", port = ""] = (to ?? "").split(".");
    const node = scope?.nodes[inner];
    const found = types.get(node?.type ?? "")?.inputs.find((one) => one.name === port);
    return found !== undefined && isSeed(found) ? [{ name, otherwise: node?.inputs[port] ?? found.default }] : [];
  });
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
