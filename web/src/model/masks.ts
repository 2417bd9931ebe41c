/** Where a painted mask can go in a graph, and on which picture it is painted. Pure: the best place is the first. */

import type { Catalogue, InputPort } from "./catalogue";
import { type FileValue, type Scope, type ScopeId, type WorkflowDocument, isFile, isLink, scopeOf, split } from "./document";
import { connect, setInput } from "./edit";
import { type Loader, addLoader } from "./feed";
import { ancestors, descendants } from "./graph";
import type { Edit } from "./history";
import { portsOf } from "./ports";

export type MaskTarget =
  /** In place of the file that this node opens as a mask. */
  | { readonly kind: "file"; readonly node: string; readonly port: string }
  /** Through a new node that is wired to this port ("node.port"). */
  | { readonly kind: "port"; readonly to: string }
  /** A new node, wired to nothing. */
  | { readonly kind: "node" };

const ALONE: MaskTarget = { kind: "node" };

interface Place {
  readonly document: WorkflowDocument;
  readonly scope: ScopeId;
  readonly catalogue: Catalogue;
}

/**
 * Where a mask can go, the best first: to the node selected, to what its picture goes to, to what else takes masks.
 *
 * What another node than a file's makes is only replaced at the node selected. If nothing says which of several it is, a
 * node of its own comes first.
 */
export function maskTargets(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, selected: string | undefined): readonly MaskTarget[] {
  const place = { document, scope, catalogue };
  const graph = scopeOf(document, scope);
  const after = selected === undefined ? new Set<string>() : descendants(graph, [selected]);
  const all = Object.keys(graph.nodes);
  const own = selected === undefined ? [] : targetsAt(place, selected, true);
  const near = all.filter((id) => after.has(id)).flatMap((id) => targetsAt(place, id, false));
  const others = distinct(all.flatMap((id) => targetsAt(place, id, false)));
  const isOfPicture = selected !== undefined && pictureOfNode(place, selected) !== undefined;
  const isClear = own.length + near.length > 0 || (others.length === 1 && !isOfPicture);
  return distinct(isClear ? [...own, ...near, ...others, ALONE] : [ALONE, ...others]);
}

/** One edit; `at`: where a new node goes. */
export function feedMask(scope: ScopeId, loader: Loader, file: FileValue, target: MaskTarget, at: { readonly x: number; readonly y: number }): Edit {
  const value = { file: file.file ?? "", sha256: file.sha256 };
  if (target.kind === "file") return setInput(scope, target.node, target.port, value);
  const { edit, id } = addLoader(scope, loader, file, at);
  if (target.kind === "node") return edit;
  return (document) => connect(scope, `${id(document)}.${loader.output}`, target.to)(edit(document));
}

/**
 * The picture that a mask for this node is painted on: the one that a node opens; for a mask, or a node that takes one, the
 * picture that comes to the same place; else the mask itself.
 */
export function pictureFor(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, node: string): FileValue | undefined {
  const place = { document, scope, catalogue };
  const graph = scopeOf(document, scope);
  const mask = maskFile(place, node);
  const isTaker = mask === undefined && maskPorts(place, node).length > 0;
  if (mask === undefined && !isTaker) return pictureOfNode(place, node);
  const takers = isTaker ? [node] : [...descendants(graph, [node])].filter((id) => maskPorts(place, id).length > 0);
  const before = ancestors(graph, takers);
  const found = Object.keys(graph.nodes).filter((id) => before.has(id)).map((id) => pictureOfNode(place, id));
  return found.find((file) => file !== undefined) ?? fileAt(graph, node, mask);
}

function pictureOfNode(place: Place, node: string): FileValue | undefined {
  const { inputs, outputs } = portsOf(place.document, place.scope, place.catalogue, node);
  if (outputs.some((port) => port.type === "Mask")) return undefined;
  return fileAt(scopeOf(place.document, place.scope), node, pictureFile(inputs));
}

function fileAt(graph: Scope, node: string, port: InputPort | undefined): FileValue | undefined {
  const value = port === undefined ? undefined : graph.nodes[node]?.inputs[port.name];
  return isFile(value) ? value : undefined;
}

function pictureFile(inputs: readonly InputPort[]): InputPort | undefined {
  return inputs.find((port) => port.hint?.hint === "file" && port.hint.kinds.includes("image"));
}

/** The port whose file this node opens as a mask; undefined for a node that opens none, or gets the file from elsewhere. */
function maskFile({ document, scope, catalogue }: Place, node: string): InputPort | undefined {
  const { inputs, outputs } = portsOf(document, scope, catalogue, node);
  const port = outputs.some((output) => output.type === "Mask") ? pictureFile(inputs) : undefined;
  return port === undefined || isLink(scopeOf(document, scope).nodes[node]?.inputs[port.name]) ? undefined : port;
}

function maskPorts({ document, scope, catalogue }: Place, node: string): readonly InputPort[] {
  return portsOf(document, scope, catalogue, node).inputs.filter((port) => port.type === "Mask");
}

/** What a mask at this node would replace or be wired to; free ports before those that have a mask. */
function targetsAt(place: Place, node: string, isChosen: boolean): readonly MaskTarget[] {
  const file = maskFile(place, node);
  if (file !== undefined) return [{ kind: "file", node, port: file.name }];
  const found = maskPorts(place, node).map((port) => ({ port, value: scopeOf(place.document, place.scope).nodes[node]?.inputs[port.name] }));
  const free = found.filter(({ value }) => !isLink(value)).map(({ port }): MaskTarget => ({ kind: "port", to: `${node}.${port.name}` }));
  const held = found.flatMap(({ port, value }) => {
    if (!isLink(value)) return [];
    const files = filesBehind(place, split(value.link).node, new Set([node]));
    return files.length > 0 || !isChosen ? files : [{ kind: "port", to: `${node}.${port.name}` } as const];
  });
  return [...free, ...held];
}

/** The files of the masks that a node's mask is made of: through growing, inverting and the like. */
function filesBehind(place: Place, node: string, seen: Set<string>): readonly MaskTarget[] {
  if (seen.has(node)) return [];
  seen.add(node);
  const file = maskFile(place, node);
  if (file !== undefined) return [{ kind: "file", node, port: file.name }];
  return maskPorts(place, node).flatMap((port) => {
    const value = scopeOf(place.document, place.scope).nodes[node]?.inputs[port.name];
    return isLink(value) ? filesBehind(place, split(value.link).node, seen) : [];
  });
}

function distinct(targets: readonly MaskTarget[]): readonly MaskTarget[] {
  return [...new Map(targets.map((target) => [keyOf(target), target])).values()];
}

/** A name of a target among others. */
export function keyOf(target: MaskTarget): string {
  return target.kind === "file" ? `file ${target.node}` : target.kind === "port" ? `port ${target.to}` : "node";
}
