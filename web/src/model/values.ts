/**
 * The values that a document's ports hold, also those inside of instances of subgraphs ("instance/node.port"), and documents
 * with other ones. Pure.
 */

import type { Catalogue, InputPort } from "./catalogue";
import { type Json, type JsonObject, type Node, type Scope, type WorkflowDocument, isLink, split, targets } from "./document";
import { inputNamed, typeOf, valueOf } from "./ports";
import { freshSubgraphId } from "./parts";

export interface HeldPort {
  /** "node.port", or "instance/node.port". */
  readonly reference: string;
  readonly port: InputPort;
  /** Its own or its default; undefined for none. */
  readonly value: Json | undefined;
}

/** Every port that takes its value from no link, and inside of instances from nothing outside. Muted nodes have none. */
export function heldPorts(document: WorkflowDocument, catalogue: Catalogue): HeldPort[] {
  return portsIn(document, document, catalogue, "", new Set(), []);
}

function portsIn(
  document: WorkflowDocument, scope: Scope, catalogue: Catalogue, prefix: string, given: ReadonlySet<string>, around: readonly string[],
): HeldPort[] {
  return Object.entries(scope.nodes).flatMap(([id, node]) => {
    if (node.state === "muted") return [];
    const held = (typeOf(document, catalogue, node.type)?.inputs ?? []).flatMap((port) => {
      const value = valueOf(node, port) ?? port.default;
      return isLink(value) || given.has(`${id}.${port.name}`) ? [] : [{ reference: `${prefix}${id}.${port.name}`, port, value }];
    });
    const inner = node.type.startsWith("#") && !around.includes(node.type) ? document.subgraphs?.[node.type.slice(1)] : undefined;
    if (inner === undefined) return held;
    const exposed = new Set(Object.values(inner.inputs ?? {}).flatMap(targets));
    return [...held, ...portsIn(document, inner, catalogue, `${prefix}${id}/`, exposed, [...around, node.type])];
  });
}

/** The port of a reference at the document's own nodes. */
export function heldPort(document: WorkflowDocument, catalogue: Catalogue, reference: string): HeldPort | null {
  const { node: id, port: name } = split(reference);
  const node = document.nodes[id];
  const port = node === undefined ? undefined : inputNamed(typeOf(document, catalogue, node.type), name);
  if (node === undefined || port === undefined) return null;
  const value = valueOf(node, port) ?? port.default;
  return isLink(value) ? null : { reference, port, value };
}

/**
 * The document with other values at some ports. What is inside of an instance changes in that one alone: a definition that
 * others use too is copied for it. References to what is not there change nothing.
 */
export function withValues(document: WorkflowDocument, values: JsonObject): WorkflowDocument {
  let found = document;
  for (const [reference, value] of Object.entries(values)) {
    const { node, port } = split(reference);
    found = setIn(found, found, node.split("/"), port, value, false).document;
  }
  return found;
}

interface Changed {
  readonly document: WorkflowDocument;
  readonly scope: Scope;
}

function setIn(document: WorkflowDocument, scope: Scope, path: readonly string[], port: string, value: Json, isShared: boolean): Changed {
  const [id = "", ...rest] = path;
  const node = scope.nodes[id];
  const isOuter = scope === document;
  const changed = (now: WorkflowDocument, other: Node): Changed => {
    const nodes = { ...scope.nodes, [id]: other };
    return isOuter ? { document: { ...now, nodes }, scope: { ...now, nodes } } : { document: now, scope: { ...scope, nodes } };
  };
  if (node === undefined) return { document, scope };
  if (rest.length === 0) return changed(document, { ...node, inputs: { ...node.inputs, [port]: value } });
  const name = node.type.slice(1);
  const definition = node.type.startsWith("#") ? document.subgraphs?.[name] : undefined;
  if (definition === undefined) return { document, scope };
  const isCopied = isShared || usesOf(document, node.type) > 1;
  const inner = setIn(document, definition, rest, port, value, isCopied);
  if (inner.scope === definition) return { document, scope };
  const id2 = isCopied ? freshSubgraphId(inner.document, name) : name;
  return changed({ ...inner.document, subgraphs: { ...inner.document.subgraphs, [id2]: inner.scope } }, { ...node, type: `#${id2}` });
}

function usesOf(document: WorkflowDocument, type: string): number {
  const scopes: readonly Scope[] = [document, ...Object.values(document.subgraphs ?? {})];
  return scopes.flatMap((scope) => Object.values(scope.nodes)).filter((node) => node.type === type).length;
}
