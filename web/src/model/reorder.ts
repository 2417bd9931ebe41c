/** The order of named inputs and outputs: that of the form, of the ports of a subgraph's instances, and of the file. */

import { type ScopeId, scopeOf, withScope } from "./document";
import type { Edit } from "./history";

/** Move a named input or output up (-1) or down (1) among its like; at the end it stays. */
export function movePort(scope: ScopeId, part: "inputs" | "outputs", name: string, step: -1 | 1): Edit {
  return (document) => {
    const found = scopeOf(document, scope);
    const members = Object.entries(found[part] ?? {});
    const from = members.findIndex(([one]) => one === name);
    const to = from + step;
    const [moved, other] = [members[from], members[to]];
    if (moved === undefined || other === undefined) return document;
    members[from] = other;
    members[to] = moved;
    return withScope(document, scope, { ...found, [part]: Object.fromEntries(members) });
  };
}
