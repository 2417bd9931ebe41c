/** Making ports into named inputs and outputs: of the workflow, or inside a subgraph, of that. */

import { targets } from "../model/document";
import { freshPortName, nameInput, nameOutput } from "../model/edit";
import { isLink } from "../model/document";
import { portsOf, valueOf } from "../model/ports";
import { type Here, apply, here } from "./here";

/** "node.port" of the inputs of a node that can be named: nothing is linked to them, and no name has them yet. */
export function namableInputs(at: Here, id: string): readonly string[] {
  const node = at.scope.nodes[id];
  if (node === undefined) return [];
  const named = new Set(Object.values(at.scope.inputs ?? {}).flatMap(targets));
  return portsOf(at.document, at.scopeId, at.catalogue, id).inputs
    // Of the document itself a value must be able to be written there; into a subgraph anything can be linked.
    .filter((port) => at.scopeId !== "" || at.catalogue.plain.has(port.type.replace(/^list\[(.*)\]$/, "$1")) || port.hint != null)
    .filter((port) => !isLink(valueOf(node, port)) && !named.has(`${id}.${port.name}`))
    .map((port) => `${id}.${port.name}`);
}

/** "node.port" of the outputs of a node that have no name yet. */
export function namableOutputs(at: Here, id: string): readonly string[] {
  const named = new Set(Object.values(at.scope.outputs ?? {}).map((output) => output.from));
  return portsOf(at.document, at.scopeId, at.catalogue, id).outputs.map((port) => `${id}.${port.name}`).filter((port) => !named.has(port));
}

/** Give it a name: the port's own, as far as it is free. */
export function promoteInput(reference: string): void {
  const at = here();
  if (at === null) return;
  const name = freshPortName(at.scope, "inputs", portOf(reference));
  apply("edit.promote_input", nameInput(at.scopeId, name, { to: reference }));
}

export function promoteOutput(reference: string): void {
  const at = here();
  if (at === null) return;
  const name = freshPortName(at.scope, "outputs", portOf(reference));
  apply("edit.promote_output", nameOutput(at.scopeId, name, { from: reference }));
}

function portOf(reference: string): string {
  return reference.slice(reference.indexOf(".") + 1);
}
