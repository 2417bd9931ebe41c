/**
 * Edits of named inputs and outputs: of the document (its form, the API's body), or of a subgraph (its instances' ports).
 *
 * Renaming or removing a port of a subgraph does the same to what its instances hold.
 */

import { NAME, type NamedInput, type NamedOutput, type Scope, type ScopeId, split } from "./document";
import type { Edit } from "./history";
import { membersOf, objectOf, own, withMember, without } from "./members";
import { aroundInstances, inScope, isReference, replaced, rewired, scopeIn, tied, withPart } from "./scope";

/** Add a named input, or change where one goes to. */
export function nameInput(scope: ScopeId, name: string, { to, label }: { to: string | readonly string[]; label?: string }): Edit {
  return inScope(scope, (found) => {
    const goals = typeof to === "string" ? [to] : to;
    if (!NAME.test(name) || goals.length === 0 || !goals.every((target) => isThere(found, target))) return found;
    const old = own<NamedInput>(found.inputs, name);
    const input = labelled({ ...old, to: typeof to === "string" ? to : tied(to) }, label);
    return withPart(found, "inputs", withMember(found.inputs ?? {}, name, input));
  });
}

/** Add a named output, or change where one comes from. */
export function nameOutput(scope: ScopeId, name: string, { from, label }: { from: string; label?: string }): Edit {
  return inScope(scope, (found) => {
    if (!NAME.test(name) || !isThere(found, from)) return found;
    const output = labelled({ ...own<NamedOutput>(found.outputs, name), from }, label);
    return withPart(found, "outputs", withMember(found.outputs ?? {}, name, output));
  });
}

function isThere(scope: Scope, reference: string): boolean {
  return isReference(reference) && Object.hasOwn(scope.nodes, split(reference).node);
}

function labelled<T extends NamedInput | NamedOutput>(entry: T, label: string | undefined): T {
  if (label === undefined) return entry;
  return label === "" ? without(entry, "label") : { ...entry, label };
}

export function removeInput(scope: ScopeId, name: string): Edit {
  return inScope(scope, (found) => withPart(found, "inputs", found.inputs && without(found.inputs, name)));
}

export function removeOutput(scope: ScopeId, name: string): Edit {
  return inScope(scope, (found) => withPart(found, "outputs", found.outputs && without(found.outputs, name)));
}

/** Give a named input another name; a taken or impossible one changes nothing. */
export function renameInput(scope: ScopeId, name: string, newName: string): Edit {
  return renamePort(scope, "inputs", name, newName);
}

/** Give a named output another name; a taken or impossible one changes nothing. */
export function renameOutput(scope: ScopeId, name: string, newName: string): Edit {
  return renamePort(scope, "outputs", name, newName);
}

function renamePort(id: ScopeId, part: "inputs" | "outputs", name: string, newName: string): Edit {
  return (document) => {
    const scope = scopeIn(document, id);
    const ports: { readonly [name: string]: NamedInput | NamedOutput } | undefined = scope?.[part];
    if (scope === undefined || own(ports, name) === undefined || !isFree(ports, newName)) return document;
    const members = objectOf(membersOf(ports ?? {}).map(([port, entry]) => [port === name ? newName : port, entry] as const));
    const renamed = replaced(document, id, { ...scope, [part]: members });
    if (id === "") return renamed;
    return aroundInstances(renamed, id, (around, instances) => {
      const rewrite = (reference: string): string => {
        const { node, port } = split(reference);
        return port === name && instances.has(node) ? `${node}.${newName}` : reference;
      };
      return rewired(around, part === "inputs" ? { target: rewrite } : { source: rewrite });
    });
  };
}

function isFree(ports: object | undefined, name: string): boolean {
  return NAME.test(name) && !Object.hasOwn(ports ?? {}, name);
}

/** A name for an input or output that the scope does not have yet. */
export function freshPortName(scope: Scope, part: "inputs" | "outputs", wanted: string): string {
  return freshName(wanted, (name) => Object.hasOwn(scope[part] ?? {}, name));
}

/** A name in the form of ids, as near to the wanted one as can be, that is not taken. */
export function freshName(wanted: string, isTaken: (name: string) => boolean): string {
  const plain = wanted.slice(wanted.lastIndexOf("/") + 1).replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  const stem = plain.replace(/[^a-z0-9_]+/g, "_").replace(/^[^a-z]+/, "").slice(0, 56).replace(/_+$/, "") || "node";
  if (!isTaken(stem)) return stem;
  const [, head = stem, number] = /^(.*?)_([1-9][0-9]{0,5})$/.exec(stem) ?? [];
  for (let count = number === undefined ? 2 : Number(number) + 1; ; count += 1) {
    const name = `${head}_${count}`;
    if (!isTaken(name)) return name;
  }
}
