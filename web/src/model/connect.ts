/**
 * Whether an output may be linked to an input, and if not, why: in the validator's own sentence (`graph/validate.py`).
 *
 * Decided from the server's table of what fits, circles, and letters T; all else is asked of the server.
 */

import type { Catalogue, Fit, InputPort, NodeType } from "./catalogue";
import { type Json, type Node, type ScopeId, type WorkflowDocument, split } from "./document";
import { Flow, type Found, type PortSpot, type Spot, type WireType, fitOf, flowOf, isGeneric, isNumbers, parsed, written } from "./flow";
import { own, withMember } from "./members";
import { nearest } from "./nearest";
import { inputNamed, isRequired, portsOf, typeOf } from "./ports";

export type Verdict =
  | { readonly ok: true; readonly fit: Fit }
  /** `converters`: node types that, put between, would make it fit. */
  | { readonly ok: false; readonly code: string; readonly reason: string; readonly converters: readonly string[] };

type Refusal = Extract<Verdict, { ok: false }>;

const DIRECT: Verdict = { ok: true, fit: "direct" };

function refused(code: string, reason: string, converters: readonly string[] = []): Refusal {
  return { ok: false, code, reason, converters };
}

/** What would come of linking an output to an input (both "node.port"), in place of what is there. */
export function judge(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, from: string, to: string): Verdict {
  const flow = flowOf(document, scope, catalogue);
  const { node, port } = split(to);
  const target = own<Node>(flow?.root.scope.nodes, node);
  if (flow === undefined || target === undefined) {
    const known = nearest(node, Object.keys(flow?.root.scope.nodes ?? {}));
    return refused("unknown_target", `"${to}" is no input, because no node is called "${node}".${known}`);
  }
  const spots = flow.reached(flow.root, to);
  if (spots === null) return refused("unknown_port", `${node} (${target.type}) has no input "${port}".${nearest(port, inputNames(document, catalogue, target.type))}`);
  const within = spots.length > 1 ? linked(document, flow, from, to) : flow;
  const reached = within.reached(within.root, to) ?? spots;
  const source = within.source(within.root, from);
  let fit: Fit = "direct";
  for (const spot of reached) {
    const verdict = judged(within, source, from, spot, reached);
    if (!verdict.ok) return verdict;
    if (verdict.fit === "map") fit = "map";
  }
  return fit === "map" ? { ok: true, fit } : DIRECT;
}

/** The flow with the link made: where it reaches several inputs, each sees what it does to the others. */
function linked(document: WorkflowDocument, flow: Flow, from: string, to: string): Flow {
  const { scope } = flow.root, { node: id, port } = split(to);
  const node = scope.nodes[id] as Node; // it is there
  const nodes = { ...scope.nodes, [id]: { ...node, inputs: withMember<Json>(node.inputs, port, { link: from }) } };
  return new Flow(document, { ...scope, nodes }, flow.catalogue);
}

function inputNames(document: WorkflowDocument, catalogue: Catalogue, type: string): string[] {
  return typeOf(document, catalogue, type)?.inputs.map((port) => port.name) ?? [];
}

function judged(flow: Flow, source: Found, from: string, to: PortSpot, reached: readonly PortSpot[]): Verdict {
  const type = flow.typeAt(to), where = `${to.path}.${to.port}`;
  const port = inputNamed(type, to.port);
  if (type !== undefined && port === undefined) {
    return refused("unknown_port", `${to.path} (${type.id}) has no input "${to.port}".${nearest(to.port, type.inputs.map((one) => one.name)) || " It has no inputs."}`);
  }
  const output = flow.output(source);
  if (output === null) return noOutput(flow, source, from, where);
  if (port?.hint?.hint === "file") return refused("file_linked", `${where} is linked; it takes ${files(port)}. Choose the file there.`);
  const circle = circleOf(flow, output, reached);
  if (circle !== null) return circle;
  if (type === undefined || port === undefined) return DIRECT;
  return typed(flow, output, type, port, to, where);
}

function noOutput(flow: Flow, source: Found, from: string, where: string): Refusal {
  const linked = `${where} is linked to "${from}", and`;
  if ("missing" in source && source.missing === "node") {
    const known = nearest(source.path, source.known) || " Link another output, or remove the link.";
    return refused("unknown_source", `${linked} no node is called "${source.path}".${known}`);
  }
  if ("missing" in source) return refused("unknown_output", `${linked} ${source.path} has no output "${source.port}".${nearest(source.port, source.known)}`);
  const type = flow.typeAt(source.spot) as NodeType; // `output` takes any port of an unknown one
  const known = nearest(source.spot.port, type.outputs.map((port) => port.name)) || " It has no outputs.";
  return refused("unknown_output", `${linked} ${source.spot.path} (${type.id}) has no output "${source.spot.port}".${known}`);
}

function files(port: InputPort): string {
  const kinds = port.hint?.hint === "file" && port.hint.kinds.length > 0 ? ` (${port.hint.kinds.join(", ")})` : "";
  const type = parsed(port.type);
  return type.isList ? `a list of ${MANY[type.name] ?? type.name}: each a file${kinds}` : `a file${kinds}`;
}

const MANY: { readonly [name: string]: string } = { int: "whole numbers", float: "numbers", text: "texts", bool: "true or false", T: "values" };

/** Types: does it fit, do all ports T of the node agree, and do no lists of lists come out. */
function typed(flow: Flow, output: PortSpot, type: NodeType, port: InputPort, to: PortSpot, where: string): Verdict {
  const carried = flow.typeOfOutput(output);
  if (carried === null) return DIRECT;
  const wanted = parsed(port.type);
  const fit = fitOf(flow.catalogue, carried, wanted);
  if (fit === undefined) {
    const advice = wanted.isList && carried.name === wanted.name ? "Link a list of it" : `Link an output of type ${port.type}`;
    const reason = `${where} is linked to ${output.path}.${output.port} of type ${written(carried)}; it takes ${port.type}. ${advice}.`;
    return refused("wrong_link_type", reason, convertersOf(flow.catalogue, carried, wanted));
  }
  const given = new Map(flow.givenTo(to));
  const held = [...given.keys()].find((name) => inputNamed(type, name) === port) ?? port.name;
  given.set(held, { value: { link: `${output.id}.${output.port}` }, level: output.level });
  const { bound, outputs } = flow.evaluated(type, given);
  const kinds = isGeneric(wanted) ? bound.get(wanted.name) : undefined;
  if (kinds !== undefined && kinds.size > 1 && !isNumbers(kinds)) {
    const parts = [...kinds].map(([kind, at]) => `${kind} at ${at}`).join(" and ");
    return refused("mixed_types", `${to.path} got ${parts}; these inputs take values of one type. Give all of them the same type.`);
  }
  const nested = fit === "map" ? type.outputs.findIndex((one) => parsed(one.type).isList) : -1;
  if (nested >= 0) {
    const name = `${to.path}.${type.outputs[nested]?.name}`, each = written(outputs[nested] as WireType); // found there
    return refused("nested_list", `${name} would give a list of lists: it runs once per element and gives ${each} each time. Join or pick first.`);
  }
  return fit === "map" ? { ok: true, fit } : DIRECT;
}

// Circles.

/** The refusal of a link that closes a circle. The sentence is made when it is asked for: half of all ports may have one. */
function circleOf(flow: Flow, source: Spot, reached: readonly Spot[]): Refusal | null {
  const before = flow.ancestors(source);
  if (!reached.some((spot) => spot.path === source.path || before.has(spot.path))) return null;
  return {
    ok: false, code: "cycle", converters: [],
    get reason() {
      const names = circle(flow, source, reached, new Map([...before, [source.path, source]]));
      const shown = names.length > 10 ? [...names.slice(0, 8), `... (${names.length - 9} more)`, names.at(-1)] : names;
      return `These nodes wait for each other: ${[...shown, names[0]].join(" -> ")}. Remove one of the links.`;
    },
  };
}

/** The circle that the validator would name: from the first node on it, always on to the first one after. */
function circle(flow: Flow, source: Spot, reached: readonly Spot[], among: ReadonlyMap<string, Spot>): string[] {
  if (reached.some((spot) => spot.path === source.path)) return [source.path];
  const next = new Map<string, Set<string>>([...among.keys()].map((path) => [path, new Set()]));
  for (const spot of among.values()) for (const one of flow.sourcesOf(spot)) next.get(one.path)?.add(spot.path);
  for (const spot of reached) if (among.has(spot.path)) next.get(source.path)?.add(spot.path);
  const on = new Set<string>();
  const waiting = reached.map((spot) => spot.path).filter((path) => among.has(path));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (on.has(path)) continue;
    on.add(path);
    waiting.push(...(next.get(path) ?? []));
  }
  const places = new Map([...on].map((path) => [path, flow.placeOf(among.get(path) as Spot)])); // of the same paths
  const first = (paths: Iterable<string>): string =>
    [...paths].filter((path) => on.has(path)).reduce((one, other) => (isBefore(places.get(other) ?? [], places.get(one) ?? []) ? other : one));
  const walked = new Set<string>();
  let path = first(on);
  while (!walked.has(path)) {
    walked.add(path);
    path = first(next.get(path) ?? []);
  }
  const round = [...walked].slice([...walked].indexOf(path));
  return turned(round, first(round));
}

function isBefore(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((position, index) => position !== other[index]);
  return at >= 0 && (one[at] as number) < (other[at] ?? Infinity); // it was found there
}

function turned(names: readonly string[], first: string): string[] {
  const at = names.indexOf(first);
  return [...names.slice(at), ...names.slice(0, at)];
}

// What helps.

const helping = new WeakMap<Catalogue, Map<string, readonly string[]>>();

/** Node types with one required input, which takes the one type, and an output that the other takes; the best first. */
function convertersOf(catalogue: Catalogue, source: WireType, wanted: WireType): readonly string[] {
  let kept = helping.get(catalogue);
  if (kept === undefined) helping.set(catalogue, (kept = new Map()));
  const key = `${written(source)} ${written(wanted)}`;
  let found = kept.get(key);
  if (found === undefined) {
    const ranked = [...new Set(catalogue.types.values())].map((type) => ({ id: type.id, rank: conversion(catalogue, type, source, wanted) }));
    found = ranked.filter((one) => one.rank < 9).sort((one, other) => one.rank - other.rank || (one.id < other.id ? -1 : 1)).map((one) => one.id);
    kept.set(key, found);
  }
  return found;
}

/** How roundabout a node type converts: 0 is straight, 9 not at all. */
function conversion(catalogue: Catalogue, type: NodeType, source: WireType, wanted: WireType): number {
  const required = type.inputs.filter(isRequired);
  const only = required[0];
  if (required.length !== 1 || only === undefined || type.effect || only.hint?.hint === "file") return 9;
  const takes = parsed(only.type), into = fitOf(catalogue, source, takes);
  if (into === undefined) return 9;
  const ranks = type.outputs.map((port) => {
    const declared = parsed(port.type);
    if (into === "map" && declared.isList) return 9;
    const gives = { name: isGeneric(takes) && declared.name === takes.name ? source.name : declared.name, isList: declared.isList || into === "map" };
    const out = isGeneric(gives) ? undefined : fitOf(catalogue, gives, wanted);
    return out === undefined ? 9 : Number(out === "map") + Number(into === "map") * 2;
  });
  return Math.min(9, ...ranks);
}

/** The type that an output of the scope gives ("Latents", "list[Image]"); null if it is not known. */
export function outputTypeOf(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, reference: string): string | null {
  const flow = flowOf(document, scope, catalogue);
  const output = flow === undefined ? null : flow.output(flow.source(flow.root, reference));
  const type = output === null ? null : (flow?.typeOfOutput(output) ?? null);
  return type === null ? null : written(type);
}

export interface PortOf {
  readonly node: string;
  readonly port: string;
  readonly side: "input" | "output";
}

/** Node types that could be added at a port, each with the port of theirs to link; the closest fits first. */
export function fitting(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, port: PortOf): { type: NodeType; port: string }[] {
  const here = typeHere(document, scope, catalogue, port);
  if (here === null) return [];
  const types = [...new Set(catalogue.types.values()), ...instancesFor(document, scope, catalogue)];
  const found = types.flatMap((type) => {
    const ports = port.side === "output" ? type.inputs.filter((one) => one.hint?.hint !== "file") : type.outputs;
    const ranked = ports.map((one, at) => ({ port: one.name, at, rank: rankOf(catalogue, port.side, here, parsed(one.type), type) }));
    const best = ranked.filter((one) => one.rank < 9).sort((one, other) => one.rank - other.rank || one.at - other.at)[0];
    return best === undefined ? [] : [{ type, ...best }];
  });
  found.sort((one, other) => one.rank - other.rank || needs(one.type) - needs(other.type) || one.type.title.localeCompare(other.type.title, "en"));
  return found.map(({ type, port: name }) => ({ type, port: name }));
}

/** How many inputs a node of the type needs that have no value by themselves: of those that fit, the one that asks least comes first. */
function needs(type: NodeType): number {
  return type.inputs.filter((one) => !one.optional && one.default === undefined).length;
}

function typeHere(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, { node, port, side }: PortOf): WireType | null {
  if (side === "output") {
    const known = outputTypeOf(document, scope, catalogue, `${node}.${port}`);
    if (known !== null) return parsed(known);
  }
  const ports = portsOf(document, scope, catalogue, node);
  if (side === "output") return typeSaid(ports.outputs.find((one) => one.name === port));
  const input = ports.inputs.find((one) => one.name === port);
  return input?.hint?.hint === "file" ? null : typeSaid(input);
}

function typeSaid(port: { readonly type: string } | undefined): WireType | null {
  return port === undefined ? null : parsed(port.type);
}

/** 0 the same type, 1 fits, 2 fits by running once per element, 3 takes or gives anything; 9 not at all. */
function rankOf(catalogue: Catalogue, side: PortOf["side"], here: WireType, there: WireType, type: NodeType): number {
  const [source, wanted] = side === "output" ? [here, there] : [there, here];
  const fit = fitOf(catalogue, source, wanted);
  if (fit === undefined) return 9;
  if (fit === "map" && side === "output" && type.outputs.some((one) => parsed(one.type).isList)) return 9;
  if (isGeneric(there)) return 3;
  if (fit === "map") return 2;
  return written(source) === written(wanted) ? 0 : 1;
}

/** Subgraphs that may be put into a scope: all but those that hold it. */
function instancesFor(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue): NodeType[] {
  const holds = (id: string, seen: ReadonlySet<string>): boolean =>
    id === scope ||
    (!seen.has(id) &&
      Object.values(own(document.subgraphs, id)?.nodes ?? {}).some((node) => node.type.startsWith("#") && holds(node.type.slice(1), new Set([...seen, id]))));
  return Object.keys(document.subgraphs ?? {}).filter((id) => !holds(id, new Set())).flatMap((id) => typeOf(document, catalogue, `#${id}`) ?? []);
}
