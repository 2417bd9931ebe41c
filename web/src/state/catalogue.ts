/**
 * The node types that the server knows, and the models and packs beside them. Loaded once there is a session, again when
 * the connection comes back (`reload`), and asked for with the version that is known, so that nothing is sent twice.
 */

import { create } from "zustand";

import { Problem, type Schemas, listModels, listNodes, sentence } from "../api/client";
import { whenSession } from "../api/session";
import { type Catalogue, type Fit, NO_CATALOGUE, type NodeType } from "../model/catalogue";

interface CatalogueState {
  readonly catalogue: Catalogue;
  readonly packs: readonly Schemas["PackView"][];
  /** Names of the models of this machine; null while they are not known. */
  readonly models: ReadonlySet<string> | null;
  readonly isLoaded: boolean;
  /** Why it is not there yet: the server's sentence. */
  readonly waiting: string | null;
  load(): Promise<void>;
}

const LONGEST_PAUSE_MS = 10_000;
const FIRST_PAUSE_MS = 500;

let loading: Promise<void> | null = null;
/** Of the answer that `catalogue` is made of. */
let etag: string | undefined;

export const useCatalogue = create<CatalogueState>()((set) => ({
  catalogue: NO_CATALOGUE,
  packs: [],
  models: null,
  isLoaded: false,
  waiting: null,
  load() {
    loading ??= untilThere(set).finally(() => {
      loading = null;
    });
    return loading;
  },
}));

type Set = (part: Partial<CatalogueState>) => void;

/** Ask until it is there: the server reads its node types after it has begun to answer. */
async function untilThere(set: Set): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const [answer, models] = await Promise.all([listNodes(etag), listModels()]);
      etag = answer?.etag ?? etag;
      const known = { models: new Set(models.models.map((model) => model.name)), isLoaded: true, waiting: null };
      set(answer === null ? known : { ...known, catalogue: catalogueOf(answer.value), packs: answer.value.packs });
      return;
    } catch (error) {
      set({ waiting: sentence(error) });
      if (!(error instanceof Problem) || !error.isPassing) return;
      if (error.status === 401) await whenSession();
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfterS ?? 0) * 1000 || pause));
    }
  }
}

/** The catalogue that an answer of GET /v1/nodes tells. */
function catalogueOf(view: Schemas["NodesView"]): Catalogue {
  // The server's hints are those of model/catalogue.ts; OpenAPI does not say which members each has.
  const nodes = view.nodes as unknown as readonly NodeType[];
  const former = nodes.flatMap((node) => node.was.map((id) => [id, node] as const));
  return {
    version: view.version,
    types: new Map([...former, ...nodes.map((node) => [node.id, node] as const)]),
    plain: new Set(view.types.filter((type) => type.plain).map((type) => type.name)),
    fits: view.fits as { [output: string]: { [input: string]: Fit } }, // the server knows these fits only
  };
}

/** Ask again: the server may have been started anew, with other packs. */
export function reload(): Promise<void> {
  return useCatalogue.getState().load();
}
