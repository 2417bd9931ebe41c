/**
 * What is only looks, read with care: a file may hold anything under `view`, and what is not well-formed there is
 * passed over here, but stays in the file until it is changed.
 */

import { type Frame, type Json, type NodeView, type Note, type Scope, isObject, jsonOf } from "./document";
import { own } from "./members";

export interface SafeView {
  readonly nodes: { readonly [id: string]: NodeView };
  readonly frames: readonly Frame[];
  readonly notes: readonly Note[];
  readonly wires: { readonly [port: string]: { readonly points: readonly (readonly [number, number])[] } };
}

const kept = new WeakMap<object, SafeView>();
const EMPTY: SafeView = { nodes: {}, frames: [], notes: [], wires: {} };

/** The well-formed parts of a scope's view. The same object as long as the view is. */
export function viewOf(scope: Scope): SafeView {
  const view = jsonOf(scope.view);
  if (!isObject(view)) return EMPTY;
  let safe = kept.get(view);
  if (safe === undefined) {
    safe = {
      nodes: members(view["nodes"], isNodeView) as SafeView["nodes"], // looked at by the second argument, as are wires
      frames: items(view["frames"]) as unknown as readonly Frame[], // `items` has looked at them
      notes: items(view["notes"]) as unknown as readonly Note[], // as above
      wires: members(view["wires"], isWire) as unknown as SafeView["wires"], // as above
    };
    kept.set(view, safe);
  }
  return safe;
}

/** Where and how a node is shown; {} if nothing is said. */
export function nodeViewOf(scope: Scope, id: string): NodeView {
  return own(viewOf(scope).nodes, id) ?? {};
}

function members(value: Json | undefined, fits: (member: Json) => boolean): { readonly [name: string]: Json } {
  if (!isObject(value)) return {};
  return Object.values(value).every(fits) ? value : Object.fromEntries(Object.entries(value).filter(([, member]) => fits(member)));
}

const isNumber = (value: Json | undefined): boolean => typeof value === "number";
const isMissingOr = (kind: string, value: Json | undefined): boolean => value === undefined || typeof value === kind;

function isNodeView(value: Json): boolean {
  return (
    isObject(value) &&
    ["x", "y", "width"].every((name) => isMissingOr("number", value[name])) &&
    ["title", "color"].every((name) => isMissingOr("string", value[name])) &&
    isMissingOr("boolean", value["collapsed"])
  );
}

function isWire(value: Json): boolean {
  return (
    isObject(value) &&
    Array.isArray(value["points"]) &&
    value["points"].every((point: Json) => Array.isArray(point) && point.length === 2 && point.every(isNumber))
  );
}

function items(value: Json | undefined): readonly Json[] {
  if (!Array.isArray(value)) return [];
  const fits = (item: Json): boolean =>
    isObject(item) && typeof item["id"] === "string" && ["x", "y", "width", "height"].every((name) => isNumber(item[name])) &&
    (typeof item["title"] === "string" || typeof item["text"] === "string") && isMissingOr("string", item["color"]);
  return value.every(fits) ? value : value.filter(fits);
}
