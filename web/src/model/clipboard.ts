/**
 * Copying and pasting between documents, as workflow JSON: a fragment is a workflow document of its own.
 */

import {
  type Frame, type Node, type Note, type Scope, type ScopeId, type Subgraph, type WorkflowDocument, emptyDocument, isLink, jsonOf, split,
} from "./document";
import type { Edit } from "./history";
import { freshName } from "./interface";
import { type Point, itemOf, withView } from "./looks";
import { isSame, membersOf, objectOf, own } from "./members";
import { freshSubgraphId, partOfView } from "./parts";
import { changedMembers, inScope, scopeIn } from "./scope";
import { viewOf } from "./view";

/** The chosen items of a scope as a workflow document, with the subgraphs they need. Links to others are kept. */
export function copyFragment(document: WorkflowDocument, scope: ScopeId, items: Iterable<string>): WorkflowDocument {
  const found = scopeIn(document, scope);
  if (found === undefined) return emptyDocument();
  const chosen = [...items].map(itemOf);
  const of = (kind: string): ReadonlySet<string> => new Set(chosen.filter((item) => item.kind === kind).map((item) => item.id));
  const nodes = of("node");
  const members = membersOf<Node>(found.nodes).filter(([id]) => nodes.has(id));
  const needed = subgraphsOf(document, members.map(([, node]) => node));
  const subgraphs = membersOf<Subgraph>(document.subgraphs ?? {}).filter(([id]) => needed.has(id));
  return {
    ...emptyDocument(),
    nodes: objectOf(members),
    ...(subgraphs.length === 0 ? {} : { subgraphs: objectOf(subgraphs) }),
    ...partOfView(found, nodes, (port) => nodes.has(split(port).node), of("frame"), of("note")),
  };
}

/** The subgraphs that these nodes are instances of, and those inside them. */
function subgraphsOf(document: WorkflowDocument, nodes: readonly Node[]): Set<string> {
  const found = new Set<string>();
  const waiting = [...nodes];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const id = node.type.slice(1);
    const subgraph = node.type.startsWith("#") && !found.has(id) ? own<Subgraph>(document.subgraphs, id) : undefined;
    if (subgraph === undefined) continue;
    found.add(id);
    waiting.push(...Object.values(subgraph.nodes));
  }
  return found;
}

export interface Paste {
  readonly edit: Edit;
  /** The items that it gives, for the document before or after the edit. */
  ids(document: WorkflowDocument): string[];
}

/**
 * Paste a fragment with its upper left corner `at`.
 *
 * `withLinks`: links that led out of the fragment are kept where their node is in the scope; else they are left out.
 */
export function pasteFragment(scope: ScopeId, fragment: WorkflowDocument, at: Point, { withLinks }: { withLinks: boolean }): Paste {
  const plans = new WeakMap<WorkflowDocument, Pasting>();
  const planOf = (document: WorkflowDocument): Pasting => {
    const kept = plans.get(document) ?? new Pasting(document, scope, fragment, at, withLinks);
    plans.set(document, kept);
    return kept;
  };
  return {
    edit: (document) => {
      const plan = planOf(document);
      const pasted = plan.pasted();
      plans.set(pasted, plan);
      return pasted;
    },
    ids: (document) => planOf(document).items(),
  };
}

/** One pasting into one document: new ids, and what becomes of everything. */
class Pasting {
  private readonly ids: ReadonlyMap<string, string>;
  private readonly frames: readonly Frame[];
  private readonly notes: readonly Note[];
  private readonly types: ReadonlyMap<string, string>;
  private readonly added: readonly (readonly [string, Subgraph])[];
  private readonly dx: number;
  private readonly dy: number;

  constructor(
    private readonly document: WorkflowDocument, private readonly scopeId: ScopeId, private readonly fragment: WorkflowDocument, at: Point,
    private readonly withLinks: boolean,
  ) {
    const scope = scopeIn(document, scopeId);
    const taken = new Set(Object.keys(scope?.nodes ?? {}));
    this.ids = fresh(membersOf<Node>(fragment.nodes).map(([id]) => id), taken);
    const corner = cornerOf(fragment);
    this.dx = Math.round(at.x - corner.x);
    this.dy = Math.round(at.y - corner.y);
    this.frames = this.moved(viewOf(fragment).frames, scope === undefined ? [] : viewOf(scope).frames);
    this.notes = this.moved(viewOf(fragment).notes, scope === undefined ? [] : viewOf(scope).notes);
    [this.types, this.added] = this.subgraphs();
  }

  private moved<T extends Frame | Note>(boxes: readonly T[], there: readonly T[]): T[] {
    const ids = fresh(boxes.map((box) => box.id), new Set(there.map((box) => box.id)));
    return boxes.map((box) => ({ ...box, id: ids.get(box.id) ?? box.id, x: Math.round(box.x) + this.dx, y: Math.round(box.y) + this.dy }));
  }

  /**
   * New ids of the fragment's subgraphs, and those to add. One that the document has already is used as it is, unless
   * the paste goes into it: a subgraph may not hold itself, so that what would is a copy.
   */
  private subgraphs(): [Map<string, string>, (readonly [string, Subgraph])[]] {
    const { document, fragment } = this;
    const brought = membersOf<Subgraph>(fragment.subgraphs ?? {});
    const holdsScope = (id: string): boolean =>
      this.scopeId !== "" && (id === this.scopeId || subgraphsOf(fragment, Object.values(fragment.subgraphs?.[id]?.nodes ?? {})).has(this.scopeId));
    const isHere = (id: string): boolean =>
      !holdsScope(id) &&
      [id, ...subgraphsOf(fragment, Object.values(fragment.subgraphs?.[id]?.nodes ?? {}))].every((one) =>
        isSame(jsonOf(own(document.subgraphs, one)), jsonOf(own(fragment.subgraphs, one))),
      );
    const names = new Map<string, string>();
    let growing = document;
    for (const [id, subgraph] of brought) {
      const name = isHere(id) ? id : freshSubgraphId(growing, id);
      names.set(id, name);
      if (!isHere(id)) growing = { ...growing, subgraphs: { ...growing.subgraphs, [name]: subgraph } };
    }
    const added = brought.filter(([id]) => !isHere(id)).map(([id, subgraph]) => [names.get(id) as string, retyped(subgraph, names)] as const); // every one brought has a name
    return [names, added];
  }

  items(): string[] {
    return [...this.ids.values(), ...this.frames.map((frame) => `frame:${frame.id}`), ...this.notes.map((note) => `note:${note.id}`)];
  }

  pasted(): WorkflowDocument {
    if (this.items().length === 0) return this.document;
    const pasted = inScope(this.scopeId, (scope) => this.shown(scope, { ...scope, nodes: { ...scope.nodes, ...this.nodes(scope) } }))(this.document);
    if (this.added.length === 0 || pasted === this.document) return pasted;
    return { ...pasted, subgraphs: objectOf([...membersOf<Subgraph>(pasted.subgraphs ?? {}), ...this.added]) };
  }

  private nodes(scope: Scope): { readonly [id: string]: Node } {
    return objectOf(membersOf<Node>(this.fragment.nodes).map(([id, node]) => {
      const inputs = changedMembers(node.inputs, (value) => {
        if (!isLink(value)) return value;
        const { node: source, port } = split(value.link);
        const copy = this.ids.get(source);
        if (copy !== undefined) return { ...value, link: `${copy}.${port}` };
        return this.withLinks && Object.hasOwn(scope.nodes, source) ? value : undefined;
      });
      return [this.ids.get(id) as string, { ...retypedNode(node, this.types), inputs: inputs ?? {} }] as const; // every node has a new id
    }));
  }

  private shown(before: Scope, scope: Scope): Scope {
    const here = viewOf(before), brought = viewOf(this.fragment);
    const places = [...this.ids].map(([id, copy]) => {
      const view = own(brought.nodes, id) ?? {};
      return [copy, { ...view, x: Math.round(view.x ?? 0) + this.dx, y: Math.round(view.y ?? 0) + this.dy }] as const;
    });
    const wires = membersOf(brought.wires).flatMap(([port, { points }]) => {
      const { node, port: name } = split(port);
      const copy = this.ids.get(node);
      if (copy === undefined || !isLink(own(scope.nodes[copy]?.inputs, name))) return [];
      return [[`${copy}.${name}`, { points: points.map(([x, y]) => [x + this.dx, y + this.dy] as const) }] as const];
    });
    return withView(scope, {
      nodes: objectOf([...membersOf(here.nodes), ...places]),
      ...(this.frames.length === 0 ? {} : { frames: [...here.frames, ...this.frames] }),
      ...(this.notes.length === 0 ? {} : { notes: [...here.notes, ...this.notes] }),
      ...(wires.length === 0 ? {} : { wires: objectOf([...membersOf(here.wires), ...wires]) }),
    });
  }
}

function fresh(ids: readonly string[], taken: Set<string>): Map<string, string> {
  const names = new Map<string, string>();
  for (const id of ids) {
    const name = freshName(id, (wanted) => taken.has(wanted));
    taken.add(name);
    names.set(id, name);
  }
  return names;
}

function retyped(subgraph: Subgraph, names: ReadonlyMap<string, string>): Subgraph {
  return { ...subgraph, nodes: objectOf(membersOf<Node>(subgraph.nodes).map(([id, node]) => [id, retypedNode(node, names)] as const)) };
}

function retypedNode(node: Node, names: ReadonlyMap<string, string>): Node {
  const name = node.type.startsWith("#") ? names.get(node.type.slice(1)) : undefined;
  return name === undefined ? node : { ...node, type: `#${name}` };
}

function cornerOf(fragment: Scope): Point {
  const { nodes, frames, notes } = viewOf(fragment);
  const shown = Object.keys(fragment.nodes).map((id) => own(nodes, id) ?? {});
  const items = [...shown, ...frames, ...notes];
  if (items.length === 0) return { x: 0, y: 0 };
  return { x: Math.min(...items.map((item) => item.x ?? 0)), y: Math.min(...items.map((item) => item.y ?? 0)) };
}
