/** The node types that can be added to a scope, ready to be searched: those of the server and the document's subgraphs. */

import type { Catalogue, NodeType } from "../model/catalogue";
import { type ScopeId, type WorkflowDocument, isLink, scopeOf, split } from "../model/document";
import { fitting } from "../model/connect";
import { typeOf } from "../model/ports";
import { valueAt } from "../model/scope";
import type { Preferences } from "../state/preferences";
import type { PortEnd } from "../state/palette";
import { type Field, field, find, grouped } from "./search";

export interface Addable {
  readonly type: NodeType;
  /** The port that a dragged wire goes to; undefined: none is dragged, or none fits. */
  readonly port: string | undefined;
  /** Of a node that is put into a wire: the port that the wire goes on from. */
  readonly out?: string;
  readonly fields: readonly Field[];
}

/** Lines of the list: addable types under headings. */
export type Line = { readonly heading: string } | { readonly addable: Addable; readonly section: string };

const searched = new WeakMap<NodeType, readonly Field[]>();

function fieldsOf(type: NodeType): readonly Field[] {
  let found = searched.get(type);
  if (found === undefined) {
    const ports = [...type.inputs, ...type.outputs].flatMap((port) => [port.name, port.type]);
    found = [
      field(type.title, 10, true), field(type.id, 9, true), field(`${type.category} ${type.pack ?? ""}`, 4), field(ports.join(" "), 3),
      field(type.doc, 2),
    ];
    searched.set(type, found);
  }
  return found;
}

/** All that can be added, by category and title; with `from` those that fit it, the ones that fit best first. */
export function addables(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, from?: PortEnd): readonly Addable[] {
  if (from !== undefined) {
    return fitting(document, scope, catalogue, from)
      .filter(({ type }) => canHold(document, scope, type))
      .map(({ type, port }) => ({ type, port, fields: fieldsOf(type) }));
  }
  const subgraphs = Object.keys(document.subgraphs ?? {}).map((id) => typeOf(document, catalogue, `#${id}`));
  const types = [...new Set(catalogue.types.values()), ...subgraphs].filter((type) => type !== undefined);
  return types
    .filter((type) => canHold(document, scope, type))
    .sort((a, b) => order(a).localeCompare(order(b)))
    .map((type) => ({ type, port: undefined, fields: fieldsOf(type) }));
}

/** What can be put into a wire: takes what comes along it and gives what it ends at. */
export function insertables(document: WorkflowDocument, scope: ScopeId, catalogue: Catalogue, to: string): readonly Addable[] {
  const source = valueAt(scopeOf(document, scope), to);
  if (!isLink(source)) return [];
  const taking = addables(document, scope, catalogue, { ...split(source.link), side: "output" });
  const giving = new Map(fitting(document, scope, catalogue, { ...split(to), side: "input" }).map(({ type, port }) => [type.id, port]));
  return taking.flatMap((one) => {
    const out = giving.get(one.type.id);
    return out === undefined ? [] : [{ ...one, out }];
  });
}

/** Subgraphs first, then by category and title. */
function order(type: NodeType): string {
  return `${isSubgraph(type) ? "0" : "1"} ${type.category} ${type.title}`;
}

export function isSubgraph(type: NodeType): boolean {
  return type.id.startsWith("#");
}

/** A subgraph cannot stand in itself, nor in one that it holds. */
function canHold(document: WorkflowDocument, scope: ScopeId, type: NodeType): boolean {
  return scope === "" || !isSubgraph(type) || !reaches(document, type.id.slice(1), scope, new Set());
}

function reaches(document: WorkflowDocument, from: string, to: ScopeId, seen: Set<string>): boolean {
  if (from === to) return true;
  if (seen.has(from) || document.subgraphs?.[from] === undefined) return false;
  seen.add(from);
  const nodes = Object.values(scopeOf(document, from).nodes);
  return nodes.some((node) => node.type.startsWith("#") && reaches(document, node.type.slice(1), to, seen));
}

type Uses = Pick<Preferences, "recentTypes" | "typeUses">;

/** What own use counts against the text: enough to decide between equals, not to bring up what is hardly found. */
function bonus({ recentTypes, typeUses }: Uses, id: string): number {
  const recent = recentTypes.indexOf(id);
  return Math.min(2, Math.log2(1 + (typeUses[id] ?? 0)) * 0.4) + (recent < 0 ? 0 : 1 / (1 + recent));
}

interface Headings {
  readonly recent: string;
  readonly used: string;
  readonly subgraphs: string;
  readonly fitting: string;
}

/** The list for what is typed: recents, the most used and categories while it is nothing; else what is found. */
export function linesOf(query: string, all: readonly Addable[], uses: Uses, isFiltered: boolean, headings: Headings): readonly Line[] {
  if (query.trim() !== "") {
    return find(query, all, ({ type }) => bonus(uses, type.id)).map((addable) => ({ addable, section: "found" }));
  }
  const byId = new Map(all.map((addable) => [addable.type.id, addable]));
  const pick = (ids: readonly string[]): readonly Addable[] => ids.map((id) => byId.get(id)).filter((one) => one !== undefined);
  const recent = pick(uses.recentTypes).slice(0, 5);
  const used = pick(Object.entries(uses.typeUses).sort((a, b) => b[1] - a[1]).map(([id]) => id))
    .filter((one) => !recent.includes(one)).slice(0, 5);
  const own = [...section(headings.recent, recent), ...section(headings.used, used)];
  if (isFiltered) return [...own, ...section(headings.fitting, all)];
  const categories = grouped(all, ({ type }) => (isSubgraph(type) ? headings.subgraphs : type.category));
  return [...own, ...[...categories].flatMap(([name, some]) => section(name, some))];
}

function section(heading: string, addables: readonly Addable[]): readonly Line[] {
  if (addables.length === 0) return [];
  return [{ heading }, ...addables.map((addable) => ({ addable, section: heading }))];
}

/** A text of the server, whose lines are broken for its source: paragraphs only. */
export function unwrapped(doc: string): string {
  return doc.trim().split(/\n\s*\n/).map((paragraph) => paragraph.replace(/\s*\n\s*(?![-*•])/g, " ")).join("\n\n");
}

/** The first sentence. */
export function summary(doc: string): string {
  const line = unwrapped(doc).split("\n")[0] ?? "";
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
}
