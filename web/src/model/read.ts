/**
 * Reading a workflow file: strictly, keeping every field, with every problem of its JSON and its form told at once.
 *
 * The same checks in the same sentences as `graph/document.py`. Whether node types, ports and values exist and fit is
 * asked of the server; a file with unknown node types opens.
 */

import {
  DOCUMENT_FIELDS, INPUT_FIELDS, NODE_FIELDS, OUTPUT_FIELDS, SUBGRAPH_FIELDS, canonical,
} from "./canonical";
import { type Json, type JsonObject, NAME, type WorkflowDocument, isObject } from "./document";
import { type Flaw, type Path, pathText, readJson } from "./jsontext";
import { membersOf, namesOf, own } from "./members";
import { byCodePoint, nearest } from "./nearest";
import { isReference } from "./scope";

export type { Flaw } from "./jsontext";

export type Reading = { readonly document: WorkflowDocument } | { readonly flaws: readonly Flaw[] };

const FORMAT = "latentgraph/workflow";
const VERSION = "1.0";
const MAJOR = 1;
const TYPE = /^(?:#[a-z][a-z0-9_]{0,63}|(?:[a-z][a-z0-9_-]{0,63}\/)?[A-Za-z_][A-Za-z0-9_]{0,63})$/;

/** The document of a text, in canonical order, or every reason why it is none. */
export function readDocument(text: string): Reading {
  const read = readJson(text);
  if ("value" in read) return documentOf(read.value);
  return { flaws: read.flaws.map(withNode) };
}

/** The document of a JSON value that was read strictly. */
export function documentOf(value: Json): Reading {
  const form = new Form();
  const document = form.document(value);
  return form.flaws.length > 0 || document === null ? { flaws: form.flaws } : { document: canonical(document) };
}

/** A flaw inside a node names the node, and the input if it lies in one. */
function withNode(flaw: Flaw): Flaw {
  const [first, node, inputs, port] = flaw.path;
  if (first !== "nodes" || node === undefined) return flaw;
  return { ...flaw, node: String(node), ...(inputs === "inputs" && port !== undefined ? { port: String(port) } : {}) };
}

/** One check of form: collects what is wrong. */
class Form {
  readonly flaws: Flaw[] = [];
  private keepsUnknown = false;

  private note(code: string, path: Path, message: string, of: { node?: string | undefined; port?: string } = {}): void {
    const { node, port } = of;
    this.flaws.push({ code, message, path, ...(node === undefined ? {} : { node }), ...(port === undefined ? {} : { port }) });
  }

  document(raw: Json): WorkflowDocument | null {
    if (!isObject(raw)) {
      this.note("bad_form", [], `The document is ${kind(raw)}; a workflow is a JSON object. Start it with {.`);
      return null;
    }
    if (!this.isOurs(raw)) return null;
    for (const [name, subgraph] of membersOf(this.members(raw, "subgraphs", []))) {
      if (this.isNamed(name, "subgraph", ["subgraphs"])) this.subgraph(subgraph, ["subgraphs", name]);
    }
    this.text(raw, "name", []);
    this.text(raw, "description", []);
    this.scope(raw, []);
    this.requires(raw);
    this.view(raw, []);
    this.text(raw, "$schema", []);
    this.extra(raw, DOCUMENT_FIELDS, []);
    return raw as unknown as WorkflowDocument; // it has no flaw
  }

  private isOurs(raw: JsonObject): boolean {
    const format = own<Json>(raw, "format"), version = own<Json>(raw, "version");
    if (format !== FORMAT) {
      this.note("not_a_workflow", ["format"], noWorkflow(raw, format));
      return false;
    }
    const numbers = typeof version === "string" ? /^([0-9]{1,4})\.([0-9]{1,4})$/.exec(version) : null;
    if (numbers === null) {
      this.note("bad_version", ["version"], `\`version\` is ${short(version ?? null)}; it reads "major.minor". Set it to "${VERSION}".`);
      return false;
    }
    const major = Number(numbers[1]), minor = Number(numbers[2]);
    if (major > MAJOR) {
      const message = `The workflow has version ${String(version)}; this program reads up to ${MAJOR}.x. Update Latentgraph to open it.`;
      this.note("newer_version", ["version"], message);
    } else if (major < 1) {
      this.note("older_version", ["version"], `The workflow has version ${String(version)}, which no release wrote. Save it as ${VERSION}.`);
    }
    this.keepsUnknown = major === MAJOR && minor > 0;
    return major === MAJOR;
  }

  private subgraph(raw: Json, path: Path): void {
    if (!isObject(raw)) this.note("bad_form", path, `${pathText(path)} is ${kind(raw)}. Write an object with \`nodes\`, \`inputs\` and \`outputs\`.`);
    const scope = isObject(raw) ? raw : {};
    this.scope(scope, path);
    this.view(scope, path);
    this.extra(scope, SUBGRAPH_FIELDS, path);
  }

  private scope(raw: JsonObject, path: Path): void {
    const inside = [...path, "nodes"];
    for (const [name, node] of membersOf(this.members(raw, "nodes", path))) this.node(name, node, inside);
    this.inputs(raw, path);
    this.outputs(raw, path);
  }

  private node(name: string, entry: Json, path: Path): void {
    if (!this.isNamed(name, "node", path)) return;
    const at = [...path, name], where = pathText(at), of = { node: name };
    if (!isObject(entry)) {
      this.note("bad_form", at, `${where} is ${kind(entry)}; a node is an object with \`type\` and \`inputs\`.`, of);
      return;
    }
    const type = own<Json>(entry, "type"), inputs = own<Json>(entry, "inputs") ?? {};
    if (typeof type !== "string" || !TYPE.test(type)) {
      const found = type === undefined ? "no `type`" : `the type ${short(type)}`;
      this.note("bad_type", at, `${where} has ${found}. Write a node type: \`name\`, \`pack/name\` or \`#subgraph\`.`, of);
      return;
    }
    if (own<Json>(entry, "inputs") === null || !isObject(inputs)) {
      this.note("bad_form", [...at, "inputs"], `${where}.inputs is ${kind(own<Json>(entry, "inputs") ?? null)}. Write an object: values by input name.`, of);
      return;
    }
    const version = own<Json>(entry, "type_version"), state = own<Json>(entry, "state");
    if (version !== undefined && (typeof version !== "number" || !Number.isSafeInteger(version) || version < 1)) {
      this.note("bad_form", [...at, "type_version"], `${where}.type_version is ${short(version)}. Write a whole number from 1, or leave it out.`, of);
    }
    if (state !== undefined && state !== "muted" && state !== "bypassed") {
      this.note("bad_state", [...at, "state"], `${where}.state is ${short(state)}. Write "muted" or "bypassed", or leave it out.`, of);
    }
    this.extra(entry, NODE_FIELDS, at, name);
  }

  private inputs(raw: JsonObject, path: Path): void {
    for (const [name, entry] of membersOf(this.members(raw, "inputs", path))) {
      const place = [...path, "inputs", name];
      if (!this.isNamed(name, "input", place.slice(0, -1)) || !this.isMap(entry, place, "`to`")) continue;
      const to = own<Json>(entry, "to") ?? null;
      const goals = Array.isArray(to) ? to : [to];
      if (goals.length === 0 || !goals.every(refers)) {
        this.note("bad_named_input", place, `${pathText(place)}.to is ${short(to)}. Write "node.port", or a list of such targets.`, { port: name });
        continue;
      }
      this.text(entry, "label", place);
      this.extra(entry, INPUT_FIELDS, place);
    }
  }

  private outputs(raw: JsonObject, path: Path): void {
    for (const [name, entry] of membersOf(this.members(raw, "outputs", path))) {
      const place = [...path, "outputs", name];
      if (!this.isNamed(name, "output", place.slice(0, -1)) || !this.isMap(entry, place, "`from`")) continue;
      const from = own<Json>(entry, "from") ?? null;
      if (!refers(from)) {
        this.note("bad_named_output", place, `${pathText(place)}.from is ${short(from)}. Write "node.port".`, { port: name });
        continue;
      }
      this.text(entry, "label", place);
      this.extra(entry, OUTPUT_FIELDS, place);
    }
  }

  private requires(raw: JsonObject): void {
    const requires = own<Json>(raw, "requires");
    if (requires === undefined || !this.isMap(requires, ["requires"], "`models` and `packs`")) return;
    for (const key of ["models", "packs"]) {
      const list = own<Json>(requires, key);
      if (list !== undefined && !Array.isArray(list)) this.note("bad_form", ["requires", key], `requires.${key} is ${kind(list)}. Write a list.`);
    }
  }

  private view(raw: JsonObject, path: Path): void {
    const view = own<Json>(raw, "view");
    if (view !== undefined) this.isMap(view, [...path, "view"], "what is only looks");
  }

  private members(raw: JsonObject, key: string, path: Path): JsonObject {
    const value = own<Json>(raw, key);
    if (isObject(value)) return value;
    if (value !== undefined || key === "nodes") {
      const found = value === undefined ? "is missing" : `is ${kind(value)}`;
      this.note("bad_form", [...path, key], `${pathText([...path, key])} ${found}. Write an object: one member for each.`);
    }
    return {};
  }

  private isMap(value: Json, path: Path, members: string): value is JsonObject {
    if (isObject(value)) return true;
    this.note("bad_form", path, `${pathText(path)} is ${kind(value)}. Write an object with ${members}.`);
    return false;
  }

  private isNamed(name: string, what: string, path: Path): boolean {
    if (NAME.test(name)) return true;
    const rule = "a small letter first, then small letters, digits and _, 64 at most";
    this.note("bad_id", [...path, name], `${short(name)} in ${pathText(path)} is no ${what} id (${rule}). Rename it.`);
    return false;
  }

  private text(raw: JsonObject, key: string, path: Path): void {
    const value = own<Json>(raw, key);
    if (value === undefined || typeof value === "string") return;
    this.note("bad_form", [...path, key], `${pathText([...path, key])} is ${kind(value)}. Write a text.`);
  }

  private extra(raw: JsonObject, known: ReadonlySet<string>, path: Path, node?: string): void {
    if (this.keepsUnknown) return;
    for (const key of namesOf(raw).filter((name) => !known.has(name) && !name.startsWith("x-")).sort(byCodePoint)) {
      const where = pathText(path) || "the document";
      const message = `${where} has the unknown field ${short(key)}.${nearest(key, known)} Fields of your own start with x-.`;
      this.note("unknown_field", [...path, key], message, { node });
    }
  }
}

/** What a document without our `format` is, and what to do. */
function noWorkflow(raw: JsonObject, format: Json | undefined): string {
  if (isComfyui(raw)) return "This is a workflow of ComfyUI, whose format is not read here. Build it anew from Latentgraph's nodes.";
  const named = format === undefined ? "it has no `format`" : `its \`format\` is ${short(format)}`;
  return `This is no workflow: ${named}. Set \`format\` to "${FORMAT}".`;
}

/** Whether it has the form of what ComfyUI's page saves, or of what it exports for the API: nodes with a `class_type`. */
function isComfyui(raw: JsonObject): boolean {
  if (Array.isArray(own<Json>(raw, "nodes")) && own<Json>(raw, "links") !== undefined) return true;
  return Object.values(raw).some((value) => isObject(value) && own<Json>(value, "class_type") !== undefined);
}

function refers(value: Json): boolean {
  return typeof value === "string" && isReference(value);
}

function kind(value: Json): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : typeof value === "string" ? "a text" : "a number";
}

/** A value for a message: its JSON as Python spaces it, shortened. */
function short(value: Json): string {
  const signs = [...spaced(value)];
  return signs.length <= 60 ? signs.join("") : `${signs.slice(0, 60).join("")}...`;
}

function spaced(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => spaced(item)).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${membersOf<Json>(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`).join(", ")}}`;
}
