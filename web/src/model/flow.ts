/**
 * What really comes out of each output of one scope: lists and generics followed through links and into subgraphs.
 *
 * The same walk as the validator's (`graph/flow.py`, on the nodes that `graph/flatten.py` unfolds), but asked backwards
 * from one port, so that only what lies before it is looked at. Mute and bypass are left out of account: a link has to
 * fit when the node runs again.
 */

import type { Catalogue, Fit, InputPort, NodeType } from "./catalogue";
import { type Json, type NamedInput, type NamedOutput, type Node, type Scope, type ScopeId, type WorkflowDocument, isLink, split, targets } from "./document";
import { membersOf, namesOf, own } from "./members";
import { inputNamed } from "./ports";
import { scopeIn } from "./scope";

/** How deep subgraphs nest, as for the server. */
const MOST_NESTING = 32;

export interface WireType {
  readonly name: string;
  readonly isList: boolean;
}

/** A scope on the way in: the one looked at, or the inside of an instance. */
export interface Level {
  readonly scope: Scope;
  /** Of run ids: "upscale/". */
  readonly prefix: string;
  readonly depth: number;
  /** Positions of the instances that lead here, for the order of nodes. */
  readonly place: readonly number[];
  readonly outer: { readonly level: Level; readonly instance: string } | null;
}

/** A node that runs, under its run id. */
export interface Spot {
  readonly level: Level;
  readonly id: string;
  readonly path: string;
}

export interface PortSpot extends Spot {
  readonly port: string;
}

/** Where a reference leads: an output, or what is missing. */
export type Found = { readonly spot: PortSpot } | { readonly missing: "node" | "output"; readonly path: string; readonly port: string; readonly known: readonly string[] };

/** A value that a node gets, with the level in whose words it is written. */
export interface Given {
  readonly value: Json;
  readonly level: Level;
}

/** What a node makes of its inputs. */
export interface Evaluation {
  readonly outputs: readonly WireType[];
  /** By letter: the types that its ports got, each with the first port that brought it. */
  readonly bound: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export function parsed(text: string): WireType {
  return text.startsWith("list[") && text.endsWith("]") ? { name: text.slice(5, -1), isList: true } : { name: text, isList: false };
}

export function written({ name, isList }: WireType): string {
  return isList ? `list[${name}]` : name;
}

export function isGeneric({ name }: WireType): boolean {
  return name.length === 1 && name >= "A" && name <= "Z";
}

/** How a value of one type enters a port of another; undefined: not at all. */
export function fitOf(catalogue: Catalogue, source: WireType, wanted: WireType): Fit | undefined {
  const key = (type: WireType): string => written(isGeneric(type) ? { name: "T", isList: type.isList } : type);
  return own(own(catalogue.fits, key(source)), key(wanted));
}

export class Flow {
  private readonly levels = new Map<string, Level | null>();
  private readonly given = new Map<string, ReadonlyMap<string, Given>>();
  private readonly types = new Map<string, readonly WireType[] | null>();
  private readonly followed = new Set<string>();
  private isFollowing = false;
  private readonly before = new Map<string, ReadonlyMap<string, Spot>>();
  private readonly positions = new Map<Level, ReadonlyMap<string, number>>();
  readonly root: Level;

  constructor(private readonly document: WorkflowDocument, scope: Scope, readonly catalogue: Catalogue) {
    this.root = { scope, prefix: "", depth: 0, place: [], outer: null };
  }

  typeAt(spot: Spot): NodeType | undefined {
    return this.catalogue.types.get(own<Node>(spot.level.scope.nodes, spot.id)?.type ?? "");
  }

  /** The inside of an instance; null if the node is none, or nests too deep. */
  inside(level: Level, id: string): Level | null {
    const path = level.prefix + id;
    const kept = this.levels.get(path);
    if (kept !== undefined) return kept;
    const type = own<Node>(level.scope.nodes, id)?.type ?? "";
    const scope = type.startsWith("#") && level.depth < MOST_NESTING ? own<Scope>(this.document.subgraphs, type.slice(1)) : undefined;
    const place = scope === undefined ? [] : this.placeOf({ level, id, path });
    const inner = scope === undefined ? null : { scope, prefix: `${path}/`, depth: level.depth + 1, place, outer: { level, instance: id } };
    this.levels.set(path, inner);
    return inner;
  }

  /** Where a node stands in the order of nodes: positions from the outside in. */
  placeOf({ level, id }: Spot): readonly number[] {
    let positions = this.positions.get(level);
    if (positions === undefined) {
      positions = new Map(namesOf(level.scope.nodes).map((name, at) => [name, at]));
      this.positions.set(level, positions);
    }
    return [...level.place, positions.get(id) ?? -1];
  }

  /** The output that a reference names, through the outputs of instances. */
  source(level: Level, reference: string): Found {
    const { node: id, port } = split(reference);
    const path = level.prefix + id;
    if (own<Node>(level.scope.nodes, id) === undefined) return { missing: "node", path, port, known: this.pathsOf(level) };
    const inner = this.inside(level, id);
    if (inner === null) return { spot: { level, id, path, port } };
    const output = own<NamedOutput>(inner.scope.outputs, port);
    if (output === undefined) return { missing: "output", path, port, known: Object.keys(inner.scope.outputs ?? {}) };
    return this.source(inner, output.from);
  }

  private pathsOf(level: Level): string[] {
    return Object.keys(level.scope.nodes).map((id) => level.prefix + id);
  }

  /** The inputs that a value given here reaches, through the inputs of instances; null if the instance has no such input. */
  reached(level: Level, reference: string): PortSpot[] | null {
    const { node: id, port } = split(reference);
    const inner = this.inside(level, id);
    if (inner === null) return [{ level, id, port, path: level.prefix + id }];
    const input = own<NamedInput>(inner.scope.inputs, port);
    return input === undefined ? null : targets(input).flatMap((target) => this.reached(inner, target) ?? []);
  }

  /** What a node gets by input: what it holds, and over it what the instance around it is given. */
  givenTo({ level, id, path }: Spot): ReadonlyMap<string, Given> {
    const kept = this.given.get(path);
    if (kept !== undefined) return kept;
    const found = new Map<string, Given>();
    for (const [port, value] of membersOf<Json>(own<Node>(level.scope.nodes, id)?.inputs ?? {})) found.set(port, { value, level });
    if (level.outer !== null) {
      const { level: outer, instance } = level.outer;
      for (const [name, value] of this.givenTo({ level: outer, id: instance, path: outer.prefix + instance })) {
        for (const target of targets(own<NamedInput>(level.scope.inputs, name) ?? { to: [] })) {
          if (split(target).node === id) found.set(split(target).port, value);
        }
      }
    }
    this.given.set(path, found);
    return found;
  }

  /** The nodes that a node's links lead to. */
  sourcesOf(spot: Spot): Spot[] {
    const type = this.typeAt(spot);
    return [...this.givenTo(spot)].flatMap(([port, { value, level }]) => {
      if (!isLink(value) || (type !== undefined && inputNamed(type, port) === undefined)) return [];
      const found = this.output(this.source(level, value.link));
      return found === null ? [] : [found];
    });
  }

  /** The output found, if there is one: of a type that is not known, any. */
  output(found: Found): PortSpot | null {
    if ("missing" in found) return null;
    const type = this.typeAt(found.spot);
    return type === undefined || type.outputs.some((port) => port.name === found.spot.port) ? found.spot : null;
  }

  /** All nodes before one, by run id; itself only on a circle. */
  ancestors(spot: Spot): ReadonlyMap<string, Spot> {
    const kept = this.before.get(spot.path);
    if (kept !== undefined) return kept;
    const found = new Map<string, Spot>();
    const waiting: Spot[] = [spot];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const source of this.sourcesOf(next)) {
        if (found.has(source.path)) continue;
        found.set(source.path, source);
        waiting.push(source);
      }
    }
    this.before.set(spot.path, found);
    return found;
  }

  /** The type that an output gives; null if it is not known. */
  typeOfOutput(spot: PortSpot): WireType | null {
    const type = this.typeAt(spot);
    const at = type?.outputs.findIndex((port) => port.name === spot.port) ?? -1;
    if (at < 0) return null;
    if (!this.isFollowing) this.follow(spot);
    return this.types.get(spot.path)?.[at] ?? null;
  }

  /** Find the types of a node's outputs, those of all before it first: without recursion, for chains are long. */
  private follow(spot: Spot): void {
    const waiting = [spot];
    this.isFollowing = true; // what is asked meanwhile is known, or lies on a circle
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      if (this.types.has(next.path)) waiting.pop();
      else if (this.followed.has(next.path)) {
        waiting.pop();
        const type = this.typeAt(next);
        this.types.set(next.path, type === undefined ? null : this.evaluated(type, this.givenTo(next)).outputs);
      } else {
        this.followed.add(next.path);
        for (const source of this.sourcesOf(next)) if (!this.followed.has(source.path)) waiting.push(source);
      }
    }
    this.isFollowing = false;
  }

  /** What a node of this type makes of these inputs. */
  evaluated(type: NodeType, given: ReadonlyMap<string, Given>): Evaluation {
    const bound = new Map<string, Map<string, string>>();
    const literals = new Map(type.inputs.filter((port) => port.default !== undefined).map((port) => [port, port.default as Json])); // not undefined
    let isMapped = false;
    for (const [name, { value, level }] of given) {
      const port = inputNamed(type, name);
      if (port === undefined) continue;
      if (!isLink(value)) {
        if (value !== null || literals.has(port)) literals.set(port, value);
        continue;
      }
      literals.delete(port);
      const source = this.output(this.source(level, value.link));
      const carried = source === null ? null : this.typeOfOutput(source);
      if (carried === null) continue;
      const wanted = parsed(port.type);
      if (fitOf(this.catalogue, carried, wanted) === "map") isMapped = true;
      if (isGeneric(wanted) && !isGeneric(carried)) note(bound, wanted.name, carried.name, port.name);
    }
    for (const [port, value] of literals) bindLiteral(bound, port, value);
    const outputs = type.outputs.map((port) => {
      const declared = parsed(port.type);
      return { name: chosen(bound.get(declared.name)) ?? declared.name, isList: declared.isList || isMapped };
    });
    return { outputs, bound };
  }
}

function note(bound: Map<string, Map<string, string>>, letter: string, kind: string, port: string): void {
  const kinds = bound.get(letter) ?? new Map<string, string>();
  if (!kinds.has(kind)) kinds.set(kind, port);
  bound.set(letter, kinds);
}

/** What is written at an input T says its type too. */
function bindLiteral(bound: Map<string, Map<string, string>>, port: InputPort, value: Json): void {
  const wanted = parsed(port.type);
  if (!isGeneric(wanted) || value === null || Array.isArray(value) !== wanted.isList) return;
  const kinds = (Array.isArray(value) ? value : [value]).map(kindOf);
  if (kinds.includes(null)) return; // refused by the validator for itself
  for (const kind of kinds) note(bound, wanted.name, kind as string, port.name); // none is null, as was seen
}

/** The wire type of a literal as the server reads it: 7 and 7.0 are written alike, as a whole number. */
function kindOf(value: Json): string | null {
  if (typeof value === "number") return Number.isSafeInteger(value) ? "int" : "float";
  if (typeof value === "string") return "text";
  return typeof value === "boolean" ? "bool" : null;
}

function chosen(kinds: ReadonlyMap<string, string> | undefined): string | undefined {
  if (kinds === undefined) return undefined;
  return isNumbers(kinds) ? "float" : kinds.keys().next().value;
}

/** Whole and other numbers side by side are all taken as numbers. */
export function isNumbers(kinds: ReadonlyMap<string, string>): boolean {
  return kinds.size === 2 && kinds.has("int") && kinds.has("float");
}

const flows = new WeakMap<WorkflowDocument, { readonly catalogue: Catalogue; readonly byScope: Map<ScopeId, Flow> }>();

/** The flow through a scope; kept with the document. Undefined if there is no such scope. */
export function flowOf(document: WorkflowDocument, id: ScopeId, catalogue: Catalogue): Flow | undefined {
  let kept = flows.get(document);
  if (kept?.catalogue !== catalogue) flows.set(document, (kept = { catalogue, byScope: new Map() }));
  const scope = scopeIn(document, id);
  let flow = kept.byScope.get(id);
  if (flow === undefined && scope !== undefined) kept.byScope.set(id, (flow = new Flow(document, scope, catalogue)));
  return flow;
}
