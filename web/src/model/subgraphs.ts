/**
 * Putting nodes into a subgraph, and taking them out again, without changing what a run does.
 *
 * Links that cross the border become named inputs and outputs; values stay with their nodes inside. Named inputs and
 * outputs of the scope that led to the nodes lead to the instance. `unpack` gives the nodes back, up to their ids.
 */

import {
  type Frame, type Json, type JsonObject, type NamedInput, type NamedOutput, type Node, type Note, type Scope, type ScopeId,
  type WorkflowDocument, isLink, split, targets,
} from "./document";
import { linksOf } from "./graph";
import type { Edit } from "./history";
import { freshName } from "./interface";
import { itemOf, withNodeViews, withView, withoutBoxes } from "./looks";
import { membersOf, namesOf, objectOf, own, withMember, without } from "./members";
import { freshSubgraphId, partOfView } from "./parts";
import { changedMembers, inScope, isReference, replaced, rewired, scopeIn, tied, withPart } from "./scope";
import { viewOf } from "./view";

/** Put nodes (with frames and notes) into a new subgraph, named as near to `name` as can be, with one instance in their place. */
export function makeSubgraph(scope: ScopeId, items: Iterable<string>, name: string): Edit {
  const chosen = [...items].map(itemOf);
  return (document) => {
    const outer = scopeIn(document, scope);
    const inside = new Set(chosen.flatMap((item) => (item.kind === "node" && Object.hasOwn(outer?.nodes ?? {}, item.id) ? [item.id] : [])));
    if (outer === undefined || inside.size === 0) return document;
    const id = freshSubgraphId(document, name);
    const boxes = (kind: "frame" | "note"): ReadonlySet<string> => new Set(chosen.filter((item) => item.kind === kind).map((item) => item.id));
    const making = new Making(outer, inside, id);
    if (!making.canBeNamed) return document;
    const around = replaced(document, scope, making.around(boxes("frame"), boxes("note")));
    return { ...around, subgraphs: withMember(around.subgraphs ?? {}, id, making.subgraph(boxes("frame"), boxes("note"))) };
  };
}

class Making {
  /** Named inputs by what feeds them: "node.port" outside, or the name of a named input. */
  private readonly inputs = new Map<string, { name: string; to: string[]; value: Json | null; label: string | undefined }>();
  private readonly outputs = new Map<string, string>();
  private readonly instance: string;

  constructor(private readonly outer: Scope, private readonly inside: ReadonlySet<string>, private readonly id: string) {
    this.instance = freshName(id, (name) => Object.hasOwn(outer.nodes, name) && !inside.has(name));
    for (const { from, to } of linksOf(outer)) {
      const begins = this.holds(from), ends = this.holds(to);
      if (ends && !begins) this.input(`link ${from}`, to, { link: from });
      if (begins && !ends) this.output(from);
    }
    for (const [name, input] of membersOf<NamedInput>(outer.inputs ?? {})) {
      for (const to of targets(input)) if (this.holds(to)) this.input(`name ${name}`, to, null, name, input.label);
    }
    for (const output of Object.values<NamedOutput>(outer.outputs ?? {})) if (this.holds(output.from)) this.output(output.from);
  }

  private holds(reference: string): boolean {
    return this.inside.has(split(reference).node);
  }

  private input(source: string, to: string, value: Json | null, wanted = split(to).port, label?: string): void {
    const found = this.inputs.get(source);
    if (found !== undefined) {
      found.to.push(to);
      return;
    }
    const taken = new Set([...this.inputs.values()].map((input) => input.name));
    this.inputs.set(source, { name: freshName(wanted, (name) => taken.has(name)), to: [to], value, label });
  }

  private output(from: string): void {
    if (this.outputs.has(from)) return;
    const taken = new Set(this.outputs.values());
    this.outputs.set(from, freshName(split(from).port, (name) => taken.has(name)));
  }

  /** False where a link crosses at a port that no named input or output can write ("node.7", of a missing type). */
  get canBeNamed(): boolean {
    return [...[...this.inputs.values()].flatMap((input) => input.to), ...this.outputs.keys()].every(isReference);
  }

  /** The scope with the instance in place of the nodes. */
  around(frames: ReadonlySet<string>, notes: ReadonlySet<string>): Scope {
    const { outer, inside } = this;
    const values = [...this.inputs.values()].flatMap(({ name, value }) => (value === null ? [] : [[name, value] as const]));
    const instance: Node = { type: `#${this.id}`, inputs: objectOf<Json>(values) };
    const bare = withoutBoxes(outer, frames, notes);
    const linked = rewired(bare, {
      source: (from, to) => (this.holds(from) && (to === undefined || !this.holds(to)) ? `${this.instance}.${this.outputs.get(from)}` : from),
    });
    const first = namesOf(outer.nodes).find((name) => inside.has(name));
    const nodes = objectOf(membersOf<Node>(linked.nodes).flatMap(([name, node]) => {
      if (name === first) return [[this.instance, instance] as const];
      return inside.has(name) ? [] : [[name, node] as const];
    }));
    const changed = withPart({ ...linked, nodes }, "inputs", changedMembers<NamedInput>(linked.inputs, (input, name) => this.turned(input, name)));
    return withNodeViews(withoutViews(changed, inside), [this.instance], () => middle(outer, inside));
  }

  /** A named input of the scope, with the instance in place of the ports inside. */
  private turned(input: NamedInput, name: string): NamedInput {
    const to = targets(input);
    if (!to.some((target) => this.holds(target))) return input;
    const port = `${this.instance}.${this.inputs.get(`name ${name}`)?.name}`;
    return { ...input, to: tied([...new Set(to.map((target) => (this.holds(target) ? port : target)))]) };
  }

  subgraph(frames: ReadonlySet<string>, notes: ReadonlySet<string>): Scope {
    const { outer, inside } = this;
    const fed = new Set([...this.inputs.values()].filter((input) => input.value !== null).flatMap((input) => input.to));
    const nodes = membersOf<Node>(outer.nodes).filter(([name]) => inside.has(name)).map(([name, node]) => {
      const inputs = changedMembers<Json>(node.inputs, (value, port) => (fed.has(`${name}.${port}`) ? undefined : value)) as JsonObject; // inputs stay inputs
      return [name, inputs === node.inputs ? node : { ...node, inputs }] as const;
    });
    const inputs = [...this.inputs.values()].map(({ name, to, label }) => [name, { to: tied(to), ...(label ? { label } : {}) }] as const);
    const outputs = [...this.outputs].map(([from, name]) => [name, { from }] as const);
    return {
      nodes: objectOf<Node>(nodes),
      ...(inputs.length === 0 ? {} : { inputs: objectOf<NamedInput>(inputs) }),
      ...(outputs.length === 0 ? {} : { outputs: objectOf<NamedOutput>(outputs) }),
      ...partOfView(outer, inside, (port) => inside.has(split(port).node) && !fed.has(port), frames, notes),
    };
  }
}

/** The scope without the looks of nodes that are gone from it, and of the wires that ended at them. */
function withoutViews(scope: Scope, gone: ReadonlySet<string>): Scope {
  const { nodes, wires } = viewOf(scope);
  let changed = scope;
  if (Object.keys(nodes).some((id) => gone.has(id))) changed = withView(changed, { nodes: objectOf(membersOf(nodes).filter(([id]) => !gone.has(id))) });
  if (Object.keys(wires).some((port) => gone.has(split(port).node))) {
    changed = withView(changed, { wires: objectOf(membersOf(wires).filter(([port]) => !gone.has(split(port).node))) });
  }
  return changed;
}

function middle(scope: Scope, ids: ReadonlySet<string>): { x: number; y: number } {
  const places = [...ids].map((id) => own(viewOf(scope).nodes, id)).filter((place) => place !== undefined);
  if (places.length === 0) return { x: 0, y: 0 };
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { x: mean(places.map((place) => place.x ?? 0)), y: mean(places.map((place) => place.y ?? 0)) };
}

// The way back.

/** Put the nodes of an instance in its place. The subgraph goes with its last instance. */
export function unpack(scope: ScopeId, id: string): Edit {
  return (document) => {
    const outer = scopeIn(document, scope);
    const type = own<Node>(outer?.nodes, id)?.type ?? "";
    const inner = type.startsWith("#") ? own<Scope>(document.subgraphs, type.slice(1)) : undefined;
    if (outer === undefined || inner === undefined) return document;
    const unpacked = inScope(scope, (found) => new Unpacking(found, inner, id).scope())(document);
    return isUsed(unpacked, type) ? unpacked : withoutSubgraph(unpacked, type.slice(1));
  };
}

function isUsed(document: WorkflowDocument, type: string): boolean {
  return [document, ...Object.values(document.subgraphs ?? {})].some((scope) => Object.values(scope.nodes).some((node) => node.type === type));
}

function withoutSubgraph(document: WorkflowDocument, id: string): WorkflowDocument {
  const subgraphs = without(document.subgraphs ?? {}, id);
  return Object.keys(subgraphs).length === 0 ? without(document, "subgraphs") : { ...document, subgraphs };
}

/** Take out a subgraph that has no instance. */
export function removeSubgraph(id: string): Edit {
  return (document) => (!Object.hasOwn(document.subgraphs ?? {}, id) || isUsed(document, `#${id}`) ? document : withoutSubgraph(document, id));
}

class Unpacking {
  private readonly ids = new Map<string, string>();

  constructor(private readonly outer: Scope, private readonly inner: Scope, private readonly id: string) {
    const taken = new Set(Object.keys(outer.nodes).filter((name) => name !== id));
    for (const name of namesOf(inner.nodes)) {
      const free = freshName(name, (wanted) => taken.has(wanted));
      taken.add(free);
      this.ids.set(name, free);
    }
  }

  private moved(reference: string): string {
    const { node, port } = split(reference);
    return `${this.ids.get(node) ?? node}.${port}`;
  }

  scope(): Scope {
    const linked = rewired(this.outer, {
      source: (from) => {
        const { node, port } = split(from);
        if (node !== this.id) return from;
        const output = own<NamedOutput>(this.inner.outputs, port);
        return output === undefined ? null : this.moved(output.from);
      },
    });
    const inputs = changedMembers<NamedInput>(linked.inputs, (input) => this.spread(input));
    const nodes = objectOf(membersOf<Node>(linked.nodes).flatMap(([name, node]) => (name === this.id ? this.nodes(node) : [[name, node] as const])));
    return this.shown(withPart({ ...linked, nodes }, "inputs", inputs));
  }

  /** The nodes inside with what the instance held laid on their ports; its state is theirs. */
  private nodes(instance: Node): (readonly [string, Node])[] {
    const laid = membersOf<Json>(instance.inputs).flatMap(([name, value]) =>
      targets(own<NamedInput>(this.inner.inputs, name) ?? { to: [] }).map((target) => [target, value] as const),
    );
    return membersOf<Node>(this.inner.nodes).map(([name, node]) => {
      let inputs = changedMembers<Json>(node.inputs, (value) => (isLink(value) ? { ...value, link: this.moved(value.link) } : value)) as JsonObject; // as above
      for (const [target, value] of laid) {
        const { node: goal, port } = split(target);
        if (goal === name) inputs = withMember<Json>(inputs, port, value);
      }
      const state = instance.state ?? node.state;
      return [this.ids.get(name) as string, { ...node, inputs, ...(state === undefined ? {} : { state }) }] as const; // every node has a new id
    });
  }

  /** A named input of the scope: what went to the instance goes to the ports inside. */
  private spread(input: NamedInput): NamedInput | undefined {
    const to = targets(input);
    if (!to.some((target) => split(target).node === this.id)) return input;
    const now = to.flatMap((target) => {
      const { node, port } = split(target);
      return node !== this.id ? [target] : targets(own<NamedInput>(this.inner.inputs, port) ?? { to: [] }).map((one) => this.moved(one));
    });
    return now.length === 0 ? undefined : { ...input, to: tied([...new Set(now)]) };
  }

  /** The looks of what was inside, where the instance was. */
  private shown(scope: Scope): Scope {
    const { nodes, frames, notes, wires } = viewOf(this.inner);
    const outer = viewOf(scope);
    const places = Object.values(nodes);
    const at = own(viewOf(this.outer).nodes, this.id) ?? {};
    const center = middle(this.inner, new Set(Object.keys(nodes)));
    const dx = places.length === 0 ? 0 : Math.round((at.x ?? 0) - center.x), dy = places.length === 0 ? 0 : Math.round((at.y ?? 0) - center.y);
    const taken = new Set([...outer.frames, ...outer.notes].map((box) => box.id));
    const moved = <T extends Frame | Note>(box: T): T => {
      const id = freshName(box.id, (name) => taken.has(name));
      taken.add(id);
      return { ...box, id, x: box.x + dx, y: box.y + dy };
    };
    const views = [
      ...membersOf(outer.nodes).filter(([name]) => name !== this.id),
      ...membersOf(nodes).map(([name, view]) => [this.ids.get(name) ?? name, { ...view, x: (view.x ?? 0) + dx, y: (view.y ?? 0) + dy }] as const),
    ];
    const points = [
      ...membersOf(outer.wires).filter(([port]) => split(port).node !== this.id),
      ...membersOf(wires).map(([port, wire]) => [this.moved(port), { points: wire.points.map(([x, y]) => [x + dx, y + dy] as const) }] as const),
    ];
    return withView(scope, {
      nodes: objectOf(views),
      ...(frames.length === 0 ? {} : { frames: [...outer.frames, ...frames.map(moved)] }),
      ...(notes.length === 0 ? {} : { notes: [...outer.notes, ...notes.map(moved)] }),
      ...(points.length === 0 && scope.view?.wires === undefined ? {} : { wires: objectOf(points) }),
    });
  }
}
