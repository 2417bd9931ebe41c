/** Adding a node of a type: one step of undo, wired to the port that a wire was dragged from. */

import type { Catalogue, InputPort, NodeType } from "../model/catalogue";
import { judge } from "../model/connect";
import type { JsonObject, Node, Scope, ScopeId, WorkflowDocument } from "../model/document";
import { scopeOf } from "../model/document";
import { addNode, connect, freshId, insertOnWire } from "../model/edit";
import type { Edit } from "../model/history";
import { measure } from "../model/measure";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";
import type { AddNodeRequest, Point, PortEnd } from "../state/palette";
import { pointed } from "../state/pointer";
import { noteUse } from "../state/preferences";

/** Add it to the scope that is shown; the new node's id. `port` is the one that the wire goes to, `out` the one it goes on from. */
export function addOfType(type: NodeType, request: AddNodeRequest = {}, port?: string, out?: string): string | null {
  const one = activeDocument();
  if (one === undefined) return null;
  const { document } = one.history;
  const scopeId = scopeAt(document, one.path);
  const scope = scopeOf(document, scopeId);
  const id = freshId(scope, wantedId(type));
  const at = placeFor(type, request, scope, port);
  const wire =
    request.into !== undefined && port !== undefined && out !== undefined
      ? insertOnWire(scopeId, id, request.into, { into: port, out })
      : wireEdit(document, scopeId, useCatalogue.getState().catalogue, { id, type }, request.from, port);
  useDocuments.getState().apply("edit.added", (before) => wire(addNode(scopeId, id, newNode(type), at)(before)));
  useDocuments.getState().select([id]);
  noteUse(type.id);
  return id;
}

/** "pack/load_image" and "#load_image" are called "load_image". */
function wantedId(type: Pick<NodeType, "id">): string {
  const name = type.id.replace(/^#/, "").split("/").at(-1) ?? "";
  return /^[a-z][a-z0-9_]{0,63}$/.test(name) ? name : "node";
}

/** Inputs keep their defaults by not being written; a seed that has none is drawn anew for each run. */
function newNode(type: NodeType): Node {
  const seeds = type.inputs.filter((input) => input.hint?.hint === "seed" && input.default === undefined && !input.optional);
  const inputs: JsonObject = Object.fromEntries(seeds.map((input: InputPort) => [input.name, { random: true }]));
  return { type: type.id, ...(type.id.startsWith("#") ? {} : { type_version: type.version }), inputs };
}

/** Where its upper left corner goes. A wire that was dropped ends at the new node's port. */
function placeFor(type: NodeType, { at, from }: AddNodeRequest, scope: Scope, port: string | undefined): Point {
  const point = at ?? pointed();
  const { width, height, ports } = measure(type, { type: type.id, inputs: {} }, undefined);
  if (from === undefined || port === undefined) {
    return at !== undefined ? rounded(point) : free({ x: point.x - width / 2, y: point.y - 20 }, scope);
  }
  const side = from.side === "output" ? "input" : "output";
  const y = ports.find((one) => one.name === port && one.side === side)?.y ?? height / 2;
  return rounded({ x: from.side === "output" ? point.x : point.x - width, y: point.y - y });
}

/** Not exactly upon another node: one would not see that there are two. */
function free(point: Point, scope: Scope): Point {
  let { x, y } = rounded(point);
  const taken = (): boolean => Object.values(scope.view?.nodes ?? {}).some((node) => Math.abs((node.x ?? 0) - x) < 20 && Math.abs((node.y ?? 0) - y) < 20);
  for (let tries = 0; tries < 100 && taken(); tries++) {
    x += 30;
    y += 30;
  }
  return { x, y };
}

function rounded({ x, y }: Point): Point {
  return { x: Math.round(x), y: Math.round(y) };
}

type New = { readonly id: string; readonly type: NodeType };

/** The edit that wires the new node to `from`; none if nothing of it fits. */
function wireEdit(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, added: New, from?: PortEnd, port?: string): Edit {
  if (from === undefined) return (same) => same;
  const there = `${from.node}.${from.port}`;
  const ends = (name: string): [string, string] => (from.side === "output" ? [there, `${added.id}.${name}`] : [`${added.id}.${name}`, there]);
  if (port !== undefined) return connect(scope, ...ends(port));
  const withIt = addNode(scope, added.id, newNode(added.type), { x: 0, y: 0 })(document);
  const names = (from.side === "output" ? added.type.inputs : added.type.outputs).map((one) => one.name);
  const best = names.find((name) => judge(withIt, scope, catalogue, ...ends(name)).ok);
  return best === undefined ? (same) => same : connect(scope, ...ends(best));
}
