/** Edits that bring a file into a graph: a node that loads it. Where masks go is `masks.ts`. */

import type { Catalogue, NodeType } from "./catalogue";
import { type FileValue, type ScopeId, type WorkflowDocument, scopeOf } from "./document";
import { addNode, freshId } from "./edit";
import type { Edit } from "./history";

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A node type that opens files, and which of its ports take and give what. */
export interface Loader {
  readonly type: NodeType;
  /** The port that takes the file. */
  readonly file: string;
  /** The port that gives its content. */
  readonly output: string;
}

/** The type that opens a file of this kind ("image", "video"); undefined if there is none. */
export function loaderOf(catalogue: Catalogue, kind: string): Loader | undefined {
  const wanted = kind === "video" ? "Video" : "Image";
  const found = loaders(catalogue).filter((one) => one.kinds.includes(kind));
  const first = found.find((one) => one.type.id === `load_${kind}`) ?? found.find((one) => one.gives === wanted) ?? found[0];
  return first === undefined ? undefined : { type: first.type, file: first.file, output: first.output };
}

/** The type that makes a Mask of a picture file; where there is none, the one that opens it as a picture. */
export function maskLoader(catalogue: Catalogue): Loader | undefined {
  const found = loaders(catalogue).filter((one) => one.gives === "Mask");
  const first = found.find((one) => one.type.id === "load_mask") ?? found[0];
  return first === undefined ? loaderOf(catalogue, "image") : { type: first.type, file: first.file, output: first.output };
}

function loaders(catalogue: Catalogue): (Loader & { readonly gives: string; readonly kinds: readonly string[] })[] {
  return [...new Set(catalogue.types.values())].flatMap((type) => {
    const file = type.inputs.find((port) => port.hint?.hint === "file");
    if (file?.hint?.hint !== "file") return [];
    const { kinds } = file.hint;
    return type.outputs.map((output) => ({ type, file: file.name, output: output.name, gives: output.type, kinds }));
  });
}

/** A node that opens the file, at a place; `id` of the node that it makes in this document. */
export function addLoader(scope: ScopeId, loader: Loader, file: FileValue, at: Point): { edit: Edit; id(document: WorkflowDocument): string } {
  const id = (document: WorkflowDocument): string => freshId(scopeOf(document, scope), wantedId(loader.type.id));
  const node = { type: loader.type.id, inputs: { [loader.file]: { file: file.file ?? "", sha256: file.sha256 } } };
  return { id, edit: (document) => addNode(scope, id(document), node, at)(document) };
}

/** "pack/load_mask" is wanted as "load_mask". */
function wantedId(type: string): string {
  return type.split("/").at(-1) ?? type;
}
