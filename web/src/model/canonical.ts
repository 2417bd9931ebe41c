/**
 * The canonical text of a document: byte for byte what `graph.document.write_document` writes.
 *
 * Fields of the format come in the order of the published schema, each only if it says something; fields of others follow
 * in their order. What users name (nodes, inputs, outputs, ports, `view`) keeps its order.
 */

import {
  type Json, type JsonObject, type NamedInput, type NamedOutput, type Node, type Scope, type Subgraph, type WorkflowDocument, jsonOf, targets,
} from "./document";
import { writeJson } from "./jsontext";
import { membersOf, objectOf, own } from "./members";
import { tied } from "./scope";

type Members = (readonly [string, Json | undefined])[];

const SCHEMA = "latentgraph/workflow-1.json";
export const DOCUMENT_FIELDS: ReadonlySet<string> = new Set([
  "$schema", "format", "version", "name", "description", "nodes", "inputs", "outputs", "subgraphs", "requires", "view",
]);
export const NODE_FIELDS: ReadonlySet<string> = new Set(["type", "type_version", "inputs", "state"]);
export const SUBGRAPH_FIELDS: ReadonlySet<string> = new Set(["nodes", "inputs", "outputs", "view"]);
export const INPUT_FIELDS: ReadonlySet<string> = new Set(["to", "label"]);
export const OUTPUT_FIELDS: ReadonlySet<string> = new Set(["from", "label"]);

/** The text of a document. Throws for a value that JSON cannot carry (NaN, an integer beyond 2^53-1), with its place. */
export function writeDocument(document: WorkflowDocument): string {
  return writeJson(jsonOf(canonical(document)) ?? null);
}

/** The document with its members in canonical order, and without those that say nothing. */
export function canonical(document: WorkflowDocument): WorkflowDocument {
  const { name, description, subgraphs } = document;
  const known: Members = [
    ["$schema", document.$schema || SCHEMA],
    ["format", document.format],
    ["version", document.version],
    ["name", name === "" ? undefined : name],
    ["description", description === "" ? undefined : description],
    ["nodes", nodes(document.nodes)],
    ...interfaceOf(document),
    ["subgraphs", isEmpty(subgraphs) ? undefined : each<Subgraph>(subgraphs ?? {}, subgraph)],
    ["requires", jsonOf(document.requires)],
    ["view", jsonOf(document.view)],
  ];
  return entry(known, document, DOCUMENT_FIELDS) as unknown as WorkflowDocument; // the members of one
}

function subgraph(scope: Subgraph): Json {
  return entry([["nodes", nodes(scope.nodes)], ...interfaceOf(scope), ["view", jsonOf(scope.view)]], scope, SUBGRAPH_FIELDS);
}

function nodes(found: Scope["nodes"]): Json {
  return each<Node>(found, (node) =>
    entry([["type", node.type], ["type_version", node.type_version], ["inputs", node.inputs ?? {}], ["state", node.state]], node, NODE_FIELDS),
  );
}

function interfaceOf({ inputs, outputs }: Scope): Members {
  const input = (tie: NamedInput): Json => entry([["to", tied(targets(tie))], ["label", tie.label || undefined]], tie, INPUT_FIELDS);
  const output = (tie: NamedOutput): Json => entry([["from", tie.from], ["label", tie.label || undefined]], tie, OUTPUT_FIELDS);
  return [
    ["inputs", isEmpty(inputs) ? undefined : each<NamedInput>(inputs ?? {}, input)],
    ["outputs", isEmpty(outputs) ? undefined : each<NamedOutput>(outputs ?? {}, output)],
  ];
}

function isEmpty(members: object | undefined): boolean {
  return members === undefined || Object.keys(members).length === 0;
}

function each<T>(members: { readonly [name: string]: T }, write: (member: T) => Json): JsonObject {
  return objectOf(membersOf(members).map(([name, member]) => [name, write(member)] as const));
}

/** The known members that are there, then those of others in their order. */
function entry(known: Members, from: object, fields: ReadonlySet<string>): JsonObject {
  const there = known.filter((member): member is readonly [string, Json] => member[1] !== undefined);
  const source = from as JsonObject; // a part of a document
  const extra = membersOf(source).filter(([name]) => !fields.has(name) && own(source, name) !== undefined);
  return objectOf([...there, ...extra]);
}
