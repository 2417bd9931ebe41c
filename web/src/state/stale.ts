/**
 * Which nodes of a document are no longer what they were in another copy of it: those that differ, and all below them.
 *
 * Run ids ("upscale/sampler") on both sides; looks (`view`), titles and labels play no part. Pure.
 */

import { type Node, type Scope, type WorkflowDocument, isLink, split, targets } from "../model/document";
import { sameJson } from "../model/same";

type Subgraphs = WorkflowDocument["subgraphs"];

/** What can change a key or what is run, as text; equal texts plan equally. */
export function keyedText(document: WorkflowDocument): string {
  const subgraphs = Object.entries(document.subgraphs ?? {}).map(([id, scope]) => [id, keyedScope(scope)]);
  return JSON.stringify([document.name ?? "", keyedScope(document), subgraphs]);
}

function keyedScope(scope: Scope): unknown {
  return [
    Object.entries(scope.nodes).map(([id, node]) => [id, node.type, node.type_version, node.inputs, node.state]),
    Object.entries(scope.inputs ?? {}).map(([name, input]) => [name, targets(input)]),
    Object.entries(scope.outputs ?? {}).map(([name, output]) => [name, output.from]),
  ];
}

/** Whether two documents share everything that can change a plan, without looking deep: true is certain, false is not. */
export function sharesKeys(a: WorkflowDocument, b: WorkflowDocument): boolean {
  return a.nodes === b.nodes && a.inputs === b.inputs && a.outputs === b.outputs && a.subgraphs === b.subgraphs && a.name === b.name;
}

function sameNode(a: Node, b: Node | undefined): boolean {
  return a === b || (b !== undefined && a.type === b.type && a.state === b.state && sameJson(a.inputs, b.inputs));
}

/** The inputs of a node that differ, by name; `["type"]` or `["state"]` if it is another node altogether. */
export function changedInputs(now: Node, before: Node): string[] {
  if (now.type !== before.type) return ["type"];
  const names = new Set([...Object.keys(now.inputs), ...Object.keys(before.inputs)]);
  const changed = [...names].filter((name) => !sameJson(now.inputs[name], before.inputs[name]));
  return now.state === before.state ? changed : [...changed, "state"];
}

/** The run ids of `now` that differ from `before` or descend from a difference. */
export function stalePaths(now: WorkflowDocument, before: WorkflowDocument): ReadonlySet<string> {
  const stale = new Set<string>();
  if (now !== before) mark(now, before, "", { now: now.subgraphs, before: before.subgraphs }, new Set(), stale);
  return stale;
}

interface Definitions {
  readonly now: Subgraphs;
  readonly before: Subgraphs;
}

/**
 * Mark the stale nodes of a scope; `given` are ports ("node.port") whose value comes from outside and is another.
 * Gives the named outputs of the scope that are stale.
 */
function mark(
  now: Scope, before: Scope | undefined, prefix: string, definitions: Definitions, given: ReadonlySet<string>, stale: Set<string>,
): Set<string> {
  /** By node: whether all of it is stale, or which of its outputs are (of an instance). */
  const staleOutputs = new Map<string, Set<string> | "all">();
  for (const id of inOrder(now)) {
    const node = now.nodes[id];
    if (node === undefined) continue;
    const other = before?.nodes[id];
    const fromAbove = staleInputs(id, node, staleOutputs, given);
    const definition = node.type.startsWith("#") ? definitions.now?.[node.type.slice(1)] : undefined;
    if (definition === undefined) {
      if (sameNode(node, other) && fromAbove.size === 0) continue;
      stale.add(prefix + id);
      staleOutputs.set(id, "all");
      continue;
    }
    const known = other?.type === node.type && other.state === node.state ? definitions.before?.[node.type.slice(1)] : undefined;
    const changed = other === undefined ? [] : changedInputs(node, other);
    const inner = new Set([...fromAbove, ...changed].flatMap((name) => targets(definition.inputs?.[name] ?? { to: [] })));
    const outputs = mark(definition, known, `${prefix}${id}/`, definitions, inner, stale);
    if (inner.size > 0 || outputs.size > 0 || known === undefined) stale.add(prefix + id);
    if (outputs.size > 0) staleOutputs.set(id, outputs);
  }
  return outputsOf(now, before, staleOutputs);
}

function staleInputs(
  id: string, node: Node, staleOutputs: ReadonlyMap<string, Set<string> | "all">, given: ReadonlySet<string>,
): Set<string> {
  const found = new Set<string>();
  for (const [port, value] of Object.entries(node.inputs)) {
    if (!isLink(value)) continue;
    const from = split(value.link);
    const outputs = staleOutputs.get(from.node);
    if (outputs === "all" || outputs?.has(from.port) === true) found.add(port);
  }
  for (const port of given) {
    const at = split(port);
    if (at.node === id) found.add(at.port);
  }
  return found;
}

function outputsOf(now: Scope, before: Scope | undefined, staleOutputs: ReadonlyMap<string, Set<string> | "all">): Set<string> {
  const found = new Set<string>();
  for (const [name, output] of Object.entries(now.outputs ?? {})) {
    const from = split(output.from);
    const outputs = staleOutputs.get(from.node);
    const isMoved = before?.outputs?.[name]?.from !== output.from;
    if (isMoved || outputs === "all" || outputs?.has(from.port) === true) found.add(name);
  }
  return found;
}

/** The nodes, each after those it takes from; nodes of a circle come last, in the order of the document. */
function inOrder(scope: Scope): string[] {
  const ids = Object.keys(scope.nodes);
  const below = new Map<string, string[]>();
  const waiting = new Map<string, number>();
  for (const id of ids) {
    const above = new Set<string>();
    for (const value of Object.values(scope.nodes[id]?.inputs ?? {})) {
      if (isLink(value)) above.add(split(value.link).node);
    }
    let count = 0;
    for (const from of above) {
      if (scope.nodes[from] === undefined) continue;
      count += 1;
      const list = below.get(from);
      if (list === undefined) below.set(from, [id]);
      else list.push(id);
    }
    waiting.set(id, count);
  }
  const order = ids.filter((id) => waiting.get(id) === 0);
  for (const id of order) {
    for (const next of below.get(id) ?? []) {
      const left = (waiting.get(next) ?? 0) - 1;
      waiting.set(next, left);
      if (left === 0) order.push(next);
    }
  }
  return order.length === ids.length ? order : [...order, ...ids.filter((id) => (waiting.get(id) ?? 0) > 0)];
}

/** The node that a run id names, and the scope it stands in. */
export function nodeAt(document: WorkflowDocument, path: string): { scope: string; id: string; node: Node } | null {
  const steps = path.split("/");
  let scope = "";
  let nodes: Scope["nodes"] = document.nodes;
  for (const [at, id] of steps.entries()) {
    const node = nodes[id];
    if (node === undefined) return null;
    if (at === steps.length - 1) return { scope, id, node };
    scope = node.type.slice(1);
    const inner = node.type.startsWith("#") ? document.subgraphs?.[scope] : undefined;
    if (inner === undefined) return null;
    nodes = inner.nodes;
  }
  return null;
}
