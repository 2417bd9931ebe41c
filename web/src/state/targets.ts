/** What is asked of the server when somebody means an instance of a subgraph: the nodes inside it that give its outputs. */

import { type Scope, type WorkflowDocument, split } from "../model/document";
import { nodeAt } from "./stale";

/** The node that really gives an output, by its run id; null if there is none. */
export function sourceOf(document: WorkflowDocument, path: string, port: string): { path: string; port: string } | null {
  const at = nodeAt(document, path);
  if (at === null) return null;
  const scope = definitionOf(document, at.node.type);
  if (scope === null) return { path, port };
  const output = scope.outputs?.[port];
  if (output === undefined) return null;
  const from = split(output.from);
  return sourceOf(document, `${path}/${from.node}`, from.port);
}

/** Targets for running up to these nodes: of an instance all its outputs. */
export function targetsOf(document: WorkflowDocument, paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => {
    const at = nodeAt(document, path);
    const scope = at === null ? null : definitionOf(document, at.node.type);
    if (scope === null) return [path];
    return Object.keys(scope.outputs ?? {}).flatMap((port) => {
      const source = sourceOf(document, path, port);
      return source === null ? [] : [`${source.path}.${source.port}`];
    });
  });
  return [...new Set(found)];
}

export function definitionOf(document: WorkflowDocument, type: string): Scope | null {
  return type.startsWith("#") ? (document.subgraphs?.[type.slice(1)] ?? null) : null;
}
