/** What two documents differ in, as a list for people: nodes, inputs, names, facts, subgraphs, looks. */

import { type Json, type NamedInput, type NamedOutput, type Node, type Scope, type Subgraph, type WorkflowDocument, jsonOf } from "./document";
import { isSame, membersOf, own } from "./members";

export interface Difference {
  readonly kind: "added" | "removed" | "changed";
  readonly what: "node" | "type" | "input" | "state" | "named_input" | "named_output" | "subgraph" | "fact" | "view";
  /** Where: "nodes.sampler.inputs.steps", "subgraphs.up.nodes.x". */
  readonly path: string;
  /** The subgraph it lies in; "" for the document itself. */
  readonly scope: string;
  readonly node?: string;
  readonly port?: string;
  readonly before?: Json;
  readonly after?: Json;
}

type Place = Pick<Difference, "what" | "path" | "scope" | "node" | "port">;

/** What `b` has that `a` has not, and the other way round; the order of members counts for nothing. Looks come last. */
export function differences(a: WorkflowDocument, b: WorkflowDocument): Difference[] {
  const facts = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !SCOPES.has(name));
  const found = [
    ...facts.flatMap((name) => compared({ what: "fact", path: name, scope: "" }, fieldOf(a, name), fieldOf(b, name))),
    ...inScopes(a, b, "", ""),
    ...each<Subgraph>(a.subgraphs, b.subgraphs).flatMap(([id, before, after]) => {
      const path = `subgraphs.${id}`;
      if (before !== undefined && after !== undefined) return inScopes(before, after, id, `${path}.`);
      return compared({ what: "subgraph", path, scope: id }, jsonOf(before), jsonOf(after));
    }),
  ];
  return [...found.filter((one) => one.what !== "view"), ...found.filter((one) => one.what === "view")];
}

const SCOPES: ReadonlySet<string> = new Set(["$schema", "format", "nodes", "inputs", "outputs", "subgraphs", "view"]);

function fieldOf(object: object, name: string): Json | undefined {
  const value = own(object as { readonly [name: string]: Json }, name); // a document, which holds JSON only
  return value === "" ? undefined : value;
}

function inScopes(a: Scope, b: Scope, scope: string, prefix: string): Difference[] {
  if (a === b) return [];
  return [
    ...each<Node>(a.nodes, b.nodes).flatMap(([id, before, after]) => nodes(id, before, after, scope, prefix)),
    ...each<NamedInput>(a.inputs, b.inputs).flatMap(([name, before, after]) =>
      compared({ what: "named_input", path: `${prefix}inputs.${name}`, scope, port: name }, jsonOf(before), jsonOf(after))),
    ...each<NamedOutput>(a.outputs, b.outputs).flatMap(([name, before, after]) =>
      compared({ what: "named_output", path: `${prefix}outputs.${name}`, scope, port: name }, jsonOf(before), jsonOf(after))),
    ...compared({ what: "view", path: `${prefix}view`, scope }, jsonOf(a.view), jsonOf(b.view)),
  ];
}

function nodes(id: string, before: Node | undefined, after: Node | undefined, scope: string, prefix: string): Difference[] {
  if (before === after) return [];
  const path = `${prefix}nodes.${id}`, place = { scope, node: id };
  if (before === undefined || after === undefined) {
    return compared({ what: "node", path, ...place }, jsonOf(before), jsonOf(after));
  }
  const rest = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !["type", "inputs", "state"].includes(name));
  return [
    ...compared({ what: "type", path: `${path}.type`, ...place }, before.type, after.type),
    ...each<Json>(before.inputs, after.inputs).flatMap(([port, was, is]) => compared({ what: "input", path: `${path}.inputs.${port}`, ...place, port }, was, is)),
    ...compared({ what: "state", path: `${path}.state`, ...place }, before.state, after.state),
    ...rest.flatMap((name) => compared({ what: "node", path: `${path}.${name}`, ...place }, fieldOf(before, name), fieldOf(after, name))),
  ];
}

function each<T>(a: { readonly [name: string]: T } = {}, b: { readonly [name: string]: T } = {}): (readonly [string, T | undefined, T | undefined])[] {
  const names = [...membersOf(a).map(([name]) => name), ...membersOf(b).map(([name]) => name).filter((name) => !Object.hasOwn(a, name))];
  return names.map((name) => [name, own(a, name), own(b, name)] as const);
}

function compared(place: Place, before: Json | undefined, after: Json | undefined): Difference[] {
  if (isSame(before, after)) return [];
  const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return [{ kind, ...place, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}
