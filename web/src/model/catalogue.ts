/**
 * The node types, as `GET /v1/nodes` tells them, and the interface that a subgraph shows as a node type.
 *
 * Names are those of the server (`server/api/routes/nodes.py`, `graph/spec.py`).
 */

import type { Json } from "./document";

export type Hint =
  /** `low` to `high`, both included; `step` is the widget's, and a multiple is required if `strict`. */
  | { readonly hint: "range"; readonly low: number; readonly high: number; readonly step: number | null; readonly strict: boolean }
  | { readonly hint: "choice"; readonly options: readonly string[] }
  | { readonly hint: "text"; readonly multiline: boolean }
  | { readonly hint: "seed" }
  /** `kinds` are what the page offers: "image", "video". */
  | { readonly hint: "file"; readonly kinds: readonly string[] }
  | { readonly hint: "model"; readonly kind: string };

export interface InputPort {
  readonly name: string;
  /** Wire type: a name, `list[name]`, or `T` for any. */
  readonly type: string;
  readonly optional: boolean;
  readonly doc: string;
  readonly was: readonly string[];
  /** Only there if the input has one. */
  readonly default?: Json;
  readonly hint?: Hint | null;
}

export interface OutputPort {
  readonly name: string;
  readonly type: string;
  readonly doc: string;
}

export interface NodeType {
  readonly id: string;
  readonly title: string;
  readonly version: number;
  readonly doc: string;
  readonly category: string;
  readonly light: boolean;
  readonly effect: boolean;
  readonly cache: boolean;
  readonly place: string;
  readonly was: readonly string[];
  readonly inputs: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
  readonly pack: string | null;
}

/** "direct", or "map": the output is a list, and the node runs once per element. */
export type Fit = "direct" | "map";

export interface Catalogue {
  /** Changes when anything of it does. */
  readonly version: string;
  /** By id and by former id. */
  readonly types: ReadonlyMap<string, NodeType>;
  /** Wire types whose values can be written into a workflow: number, text, true or false. */
  readonly plain: ReadonlySet<string>;
  /** By an output's type, by an input's; what is not there does not fit. */
  readonly fits: { readonly [output: string]: { readonly [input: string]: Fit } };
}

export const NO_CATALOGUE: Catalogue = { version: "", types: new Map(), plain: new Set(), fits: {} };
