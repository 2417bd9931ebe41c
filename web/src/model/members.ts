/**
 * Members of JSON objects by name, safely and in the file's order.
 *
 * Two traps of JavaScript: `object["constructor"]` finds what every object inherits, and keys that read like array
 * positions ("7") come first whatever their place in the file. `own` asks for own members only; an object whose keys
 * JavaScript would put in another order carries the file's order under `ORDER` (a symbol: copying with `...` keeps it,
 * JSON does not see it).
 */

import type { Json, JsonObject } from "./document";

const ORDER = Symbol("order of members");

interface Ordered {
  [ORDER]?: readonly string[];
}

/** What an object holds under this name itself. */
export function own<T>(object: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The names of the members in the file's order; new ones at the end. */
export function namesOf(object: object): readonly string[] {
  const names = Object.keys(object);
  const order = (object as Ordered)[ORDER]; // only some have it
  if (order === undefined) return names;
  const known = order.filter((name) => Object.hasOwn(object, name));
  const listed = new Set(known);
  return [...known, ...names.filter((name) => !listed.has(name))];
}

/** The members in the file's order. */
export function membersOf<T>(object: { readonly [name: string]: T }): (readonly [string, T])[] {
  return namesOf(object).map((name) => [name, object[name] as T] as const); // one of its names
}

/** An object of these members, in this order. */
export function objectOf<T>(members: Iterable<readonly [string, T]>): { readonly [name: string]: T } {
  const list = [...members];
  const object = Object.fromEntries(list) as { [name: string]: T } & Ordered; // the order is put in below
  if (list.some(([name]) => isPosition(name))) object[ORDER] = [...new Set(list.map(([name]) => name))];
  return object;
}

/** The object without one member; the same object if there is none. */
export function without<T extends object>(object: T, name: string): T {
  if (!Object.hasOwn(object, name)) return object;
  const copy = { ...object } as Record<string, unknown>; // to be written by name
  delete copy[name];
  return copy as T; // the same members
}

/** The object with one member set; a new one comes last. The same object if it is there already. */
export function withMember<T>(object: { readonly [name: string]: T }, name: string, value: T): { readonly [name: string]: T } {
  if (Object.hasOwn(object, name)) return object[name] === value ? object : { ...object, [name]: value };
  if (isPosition(name) || ORDER in object) return objectOf([...membersOf(object), [name, value]]);
  return { ...object, [name]: value };
}

/** Whether two JSON values are the same; the order of members counts for nothing. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at] as Json)); // as long
  }
  const left = one as JsonObject, right = other as JsonObject; // nothing else is left
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name]));
}

/** Whether JavaScript takes a key for an array position and puts it first. */
function isPosition(name: string): boolean {
  if (name > ":") return false; // most names begin with a letter
  return /^(?:0|[1-9][0-9]{0,9})$/.test(name) && Number(name) < 2 ** 32 - 1;
}
