/**
 * Which ports a node shows: those of its type, of the subgraph it is an instance of, or (a missing type) those that its
 * own values and the links to it speak of, so that nothing is lost from sight.
 */

import type { Catalogue, InputPort, NodeType, OutputPort } from "./catalogue";
import { type Json, type NamedInput, type NamedOutput, type Node, type Scope, type ScopeId, type Subgraph, type WorkflowDocument, isLink, split, targets } from "./document";
import { wiresFrom } from "./graph";
import { membersOf, namesOf, own } from "./members";
import { scopeIn, valueAt } from "./scope";

export interface Ports {
  readonly type: NodeType | undefined;
  readonly inputs: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
}

/** The node type of this id (or former id); of "#subgraph" the one its interface makes. */
export function typeOf(document: WorkflowDocument, catalogue: Catalogue, type: string): NodeType | undefined {
  if (!type.startsWith("#")) return catalogue.types.get(type);
  const subgraphs = document.subgraphs;
  if (subgraphs === undefined) return undefined;
  return interfaceOf(subgraphs, catalogue, type.slice(1), []);
}

interface Made {
  readonly catalogue: Catalogue;
  readonly types: Map<string, NodeType>;
}

/** Interfaces by the document's subgraphs, which most edits leave as they are. */
const made = new WeakMap<object, Made>();

function interfaceOf(
  subgraphs: NonNullable<WorkflowDocument["subgraphs"]>, catalogue: Catalogue, id: string, around: readonly string[],
): NodeType | undefined {
  const subgraph = own(subgraphs, id);
  if (subgraph === undefined || around.includes(id)) return undefined;
  let kept = made.get(subgraphs);
  if (kept?.catalogue !== catalogue) made.set(subgraphs, (kept = { catalogue, types: new Map() }));
  const found = kept.types.get(id);
  if (found !== undefined) return found;
  const inner = (reference: string): NodeType | undefined => {
    const type = own<Node>(subgraph.nodes, split(reference).node)?.type ?? "";
    return type.startsWith("#") ? interfaceOf(subgraphs, catalogue, type.slice(1), [...around, id]) : catalogue.types.get(type);
  };
  const type = madeType(id, subgraph, inner);
  if (around.length === 0) kept.types.set(id, type); // within others, what is recursive may be left out
  return type;
}

function madeType(id: string, subgraph: Subgraph, inner: (reference: string) => NodeType | undefined): NodeType {
  return {
    id: `#${id}`, title: id, version: 1, doc: "", category: "", light: false, effect: false, cache: true, place: "host", was: [], pack: null,
    inputs: membersOf<NamedInput>(subgraph.inputs ?? {}).map(([name, input]) => inputPort(name, input, subgraph, inner)),
    outputs: membersOf<NamedOutput>(subgraph.outputs ?? {}).map(([name, output]) => outputPort(name, output, inner)),
  };
}

function inputPort(name: string, input: NamedInput, subgraph: Subgraph, inner: (reference: string) => NodeType | undefined): InputPort {
  const goals = targets(input);
  const ports = goals.map((target) => inputNamed(inner(target), split(target).port)).filter((port) => port !== undefined);
  const first = ports[0];
  const isSet = goals.every((target) => own<Node>(subgraph.nodes, split(target).node) === undefined || valueAt(subgraph, target) !== undefined);
  const isNeeded = ports.length > 0 && ports.every((port) => isRequired(port)) && !isSet;
  const standing = goals.map((target) => valueAt(subgraph, target)).find((value) => value !== undefined);
  const shown = standing === undefined ? first?.default : isLink(standing) ? undefined : standing;
  return {
    name, type: first?.type ?? "T", optional: !isNeeded, doc: input.label ?? first?.doc ?? "", was: [],
    ...(shown === undefined ? {} : { default: shown }), hint: first?.hint ?? null,
  };
}

function outputPort(name: string, output: NamedOutput, inner: (reference: string) => NodeType | undefined): OutputPort {
  const found = inner(output.from)?.outputs.find((port) => port.name === split(output.from).port);
  return { name, type: found?.type ?? "T", doc: output.label ?? found?.doc ?? "" };
}

/** The input of this name or former name. */
export function inputNamed(type: Pick<NodeType, "inputs"> | undefined, name: string): InputPort | undefined {
  return type?.inputs.find((port) => port.name === name) ?? type?.inputs.find((port) => port.was.includes(name));
}

/** Whether a node without a value here is incomplete. */
export function isRequired(port: InputPort): boolean {
  return !port.optional && port.default === undefined;
}

/** What a node holds at an input, under its name or a former one; undefined for nothing. */
export function valueOf(node: Node, port: InputPort): Json | undefined {
  for (const name of [port.name, ...port.was]) {
    const value = own<Json>(node.inputs, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The ports of a node. What it holds or is linked to beside those of its type is shown too. */
export function portsOf(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, nodeId: string): Ports {
  const found = scopeIn(document, scope);
  const node = own<Node>(found?.nodes, nodeId);
  if (found === undefined || node === undefined) return { type: undefined, inputs: [], outputs: [] };
  const type = typeOf(document, catalogue, node.type);
  const strays = strayPorts(found, nodeId, node, type);
  if (type !== undefined && strays.inputs.length === 0 && strays.outputs.length === 0) return { type, inputs: type.inputs, outputs: type.outputs };
  return { type, inputs: [...(type?.inputs ?? []), ...strays.inputs], outputs: [...(type?.outputs ?? []), ...strays.outputs] };
}

function strayPorts(scope: Scope, id: string, node: Node, type: NodeType | undefined): { inputs: InputPort[]; outputs: OutputPort[] } {
  const named = type === undefined ? Object.values(scope.inputs ?? {}).flatMap(targets).filter((to) => split(to).node === id) : [];
  const results = type === undefined ? Object.values(scope.outputs ?? {}).map((output) => output.from).filter((from) => split(from).node === id) : [];
  const inputs = new Set([...namesOf(node.inputs), ...named.map((to) => split(to).port)]);
  const outputs = new Set([...wiresFrom(scope, id).map((wire) => wire.from), ...results].map((from) => split(from).port));
  return {
    inputs: [...inputs].filter((name) => inputNamed(type, name) === undefined).map((name) => ({ name, type: "T", optional: true, doc: "", was: [] })),
    outputs: [...outputs].filter((name) => type?.outputs.every((port) => port.name !== name) ?? true).map((name) => ({ name, type: "T", doc: "" })),
  };
}
