/** The form that a document's named inputs make: what to show, and the edits that filling it in is. */

import type { Catalogue, InputPort } from "./catalogue";
import { type Json, type NamedInput, type WorkflowDocument, NAME, isLink, split, targets } from "./document";
import { inTurn, nameInput, setInput } from "./edit";
import type { Edit } from "./history";
import { inputNamed, portsOf, valueOf } from "./ports";

export interface FormField {
  readonly name: string;
  readonly label: string;
  /** The port that it goes to first; undefined if the document has no such port. */
  readonly port: InputPort | undefined;
  readonly value: Json | undefined;
  readonly to: readonly string[];
}

/** The named inputs as fields, in the order in which they are written. */
export function formFields(document: WorkflowDocument, catalogue: Catalogue): FormField[] {
  return Object.entries(document.inputs ?? {}).map(([name, input]) => formField(document, catalogue, name, input));
}

function formField(document: WorkflowDocument, catalogue: Catalogue, name: string, input: NamedInput): FormField {
  const to = targets(input);
  const { node, port: portName } = split(to[0] ?? ".");
  const found = document.nodes[node];
  const port = inputNamed(portsOf(document, "", catalogue, node), portName);
  const value = found === undefined ? undefined : port === undefined ? found.inputs[portName] : valueOf(found, port);
  return { name, label: input.label ?? spoken(name), port, value, to };
}

/** "negative_prompt" is shown as "Negative prompt". */
export function spoken(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Write a value at all ports of a field; undefined takes the defaults. */
export function fillIn(field: Pick<FormField, "to">, value: Json | undefined): Edit {
  return inTurn(...field.to.map((to) => {
    const { node, port } = split(to);
    return setInput("", node, port, value);
  }));
}

/** Ports that can become fields: they take a value that can be written, hold no link, and are none yet. */
export function possibleFields(document: WorkflowDocument, catalogue: Catalogue): readonly { readonly node: string; readonly ports: readonly InputPort[] }[] {
  const taken = new Set(Object.values(document.inputs ?? {}).flatMap(targets));
  return Object.entries(document.nodes).flatMap(([id, node]) => {
    const ports = portsOf(document, "", catalogue, id).inputs.filter((port) => {
      const isWritable = catalogue.plain.has(port.type) || (port.hint ?? null) !== null;
      return isWritable && !isLink(valueOf(node, port)) && !taken.has(`${id}.${port.name}`);
    });
    return ports.length === 0 ? [] : [{ node: id, ports }];
  });
}

/** Make a port a field, named after it. */
export function addField(to: string): Edit {
  return (document) => {
    const { node, port } = split(to);
    const wanted = [port, `${node}_${port}`].map((name) => name.toLowerCase()).filter((name) => NAME.test(name));
    const name = wanted.find((one) => document.inputs?.[one] === undefined);
    return name === undefined ? document : nameInput("", name, { to })(document);
  };
}
