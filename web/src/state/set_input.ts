// stub: replaced by w-model (`setInput` of model/edit.ts)
import type { Json, ScopeId } from "../model/document";
import { scopeOf, withScope } from "../model/document";
import type { Edit } from "../model/history";

export function setInputAt(scope: ScopeId, node: string, port: string, value: Json): Edit {
  return (document) => {
    const found = scopeOf(document, scope);
    const before = found.nodes[node];
    if (before === undefined) return document;
    const changed = { ...before, inputs: { ...before.inputs, [port]: value } };
    return withScope(document, scope, { ...found, nodes: { ...found.nodes, [node]: changed } });
  };
}
