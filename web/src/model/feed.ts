/** Edits that bring a file into a graph: a node that loads it, wired where it is wanted. */

import type { Catalogue, InputPort, NodeType } from "./catalogue";
import { type FileValue, type ScopeId, type WorkflowDocument, scopeOf } from "./document";
import { addNode, connect, freshId } from "./edit";
import type { Edit } from "./history";
import { portsOf } from "./ports";

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

/** How far left of the node that it feeds a loader is put. */
const BESIDE = 320;

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

/** The port of a node that a mask goes to: one of type Mask, a free one first. */
export function maskPort(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, node: string): InputPort | undefined {
  const masks = portsOf(document, scope, catalogue, node).inputs.filter((port) => port.type === "Mask");
  const held = scopeOf(document, scope).nodes[node]?.inputs ?? {};
  return masks.find((port) => held[port.name] === undefined) ?? masks[0];
}

/**
 * A painted mask as a node beside the one selected, wired to its Mask port if it has one: one edit.
 *
 * Without a selected node it is put at `at`, unwired.
 */
export function feedMask(scopeId: ScopeId, catalogue: Catalogue, loader: Loader, file: FileValue, selected: string | undefined, at: Point): Edit {
  return (document) => {
    const scope = scopeOf(document, scopeId);
    const beside = selected === undefined ? undefined : scope.view?.nodes?.[selected];
    const place = beside === undefined ? at : { x: (beside.x ?? 0) - BESIDE, y: (beside.y ?? 0) + 120 };
    const { edit, id } = addLoader(scopeId, loader, file, place);
    const made = edit(document);
    const port = selected === undefined ? undefined : maskPort(document, scopeId, catalogue, selected);
    const gives = loader.type.outputs.find((output) => output.name === loader.output)?.type ?? "";
    if (port === undefined || catalogue.fits[gives]?.[port.type] === undefined) return made;
    return connect(scopeId, `${id(document)}.${loader.output}`, `${selected}.${port.name}`)(made);
  };
}
