/**
 * JSON text in and out, strictly: what is read here every other reader reads alike, and writing it gives its bytes again.
 *
 * The rules, sentences and places are those of `graph/jsontext.py`, which also names the vectors that test both. Reading
 * refuses duplicate keys, NaN and Infinity, integers beyond 2^53-1, lone surrogates, a byte order mark and deep nesting.
 * Knows nothing of workflows.
 */

import type { Json } from "./document";
import { membersOf, objectOf } from "./members";

export type Path = readonly (string | number)[];

/** One reason why a text is refused; `message` says what was found, where, and what to do. */
export interface Flaw {
  readonly code: string;
  readonly message: string;
  readonly path: Path;
  /** From 1; only of flaws of the text itself. */
  readonly line?: number;
  readonly column?: number;
  readonly node?: string;
  readonly port?: string;
}

const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
const MAX_DEPTH = 64;
/** From here on numbers are printed with an exponent, so that the text is no integer. */
const LARGEST = 1e21;
const MOST_FLAWS = 100;
const SURROGATE = /\p{Surrogate}/u;

/** A path as it is shown: keys after dots, positions in brackets. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, step) => (typeof step === "number" ? `${text}[${step}]` : text === "" ? step : `${text}.${step}`), "");
}

/** The value of a JSON text, or every flaw with its place. A syntax error ends the search. */
export function readJson(text: string): { readonly value: Json } | { readonly flaws: readonly Flaw[] } {
  if (text.startsWith("\ufeff")) return { flaws: [flawAt(text, 0, [], "byte_order_mark", "A byte order mark", "Save the file as UTF-8 without one.")] };
  const lone = SURROGATE.exec(text);
  if (lone !== null) return { flaws: [loneSurrogate(text, lone.index, [])] };
  try {
    return { value: new Reader(text).whole() };
  } catch (error) {
    if (error instanceof Refused) return { flaws: new Search(text, text.length).flaws() };
    if (!(error instanceof Malformed)) throw error;
    const found = `No valid JSON (${error.message})`;
    return { flaws: [...new Search(text, error.offset).flaws(), flawAt(text, error.offset, [], "bad_json", found, "Mend the text there.")] };
  }
}

/** The quick pass met something it does not take; the search tells what and where. */
class Refused extends Error {}

class Malformed extends Error {
  constructor(message: string, readonly offset: number) {
    super(message);
  }
}

/** The quick pass. Errors and their places are those of Python's decoder. */
class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): Json {
    this.skip();
    const value = this.value(0);
    this.skip();
    if (this.at < this.text.length) throw new Malformed("extra data", this.at);
    return value;
  }

  private skip(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at += 1;
    }
  }

  private value(depth: number): Json {
    switch (this.text[this.at]) {
      case '"': return this.string();
      case "{": return this.object(depth + 1);
      case "[": return this.array(depth + 1);
      case "t": return this.word("true", true);
      case "f": return this.word("false", false);
      case "n": return this.word("null", null);
      default: return this.number();
    }
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw new Malformed("expecting value", this.at);
    this.at += word.length;
    return value;
  }

  private object(depth: number): Json {
    if (depth > MAX_DEPTH) throw new Refused();
    const members: [string, Json][] = [];
    this.at += 1;
    this.skip();
    if (this.text[this.at] !== "}") {
      for (;;) {
        if (this.text[this.at] !== '"') throw new Malformed("expecting property name enclosed in double quotes", this.at);
        const name = this.string();
        this.expect(":");
        this.skip();
        members.push([name, this.value(depth)]);
        this.skip();
        if (this.text[this.at] === "}") break;
        this.expect(",");
        this.skip();
      }
    }
    this.at += 1;
    const object = objectOf(members);
    if (Object.keys(object).length !== members.length) throw new Refused();
    return object;
  }

  private array(depth: number): Json {
    if (depth > MAX_DEPTH) throw new Refused();
    const items: Json[] = [];
    this.at += 1;
    this.skip();
    if (this.text[this.at] !== "]") {
      for (;;) {
        items.push(this.value(depth));
        this.skip();
        if (this.text[this.at] === "]") break;
        this.expect(",");
        this.skip();
      }
    }
    this.at += 1;
    return items;
  }

  private expect(sign: string): void {
    this.skip();
    if (this.text[this.at] !== sign) throw new Malformed(`expecting '${sign}' delimiter`, this.at);
    this.at += 1;
  }

  private string(): string {
    const begin = this.at;
    let hasEscapes = false;
    for (let at = begin + 1; ; at += 1) {
      const code = this.text.charCodeAt(at);
      if (Number.isNaN(code)) throw new Malformed("unterminated string starting at", begin);
      if (code <= 0x1f) throw new Malformed("invalid control character at", at);
      if (code === 92) {
        hasEscapes = true;
        at = this.escaped(at + 1, begin);
      } else if (code === 34) {
        this.at = at + 1;
        return hasEscapes ? this.unescaped(begin, at + 1) : this.text.slice(begin + 1, at);
      }
    }
  }

  /** Where the escape ends whose sign after the backslash stands at `at`. */
  private escaped(at: number, begin: number): number {
    const sign = this.text[at];
    if (sign === undefined) throw new Malformed("unterminated string starting at", begin);
    if (sign !== "u") {
      if (!'"\\/bfnrt'.includes(sign)) throw new Malformed("invalid \\escape", at - 1);
      return at;
    }
    if (at + 5 >= this.text.length || !/^[0-9a-fA-F]{4}$/.test(this.text.slice(at + 1, at + 5))) throw new Malformed("invalid \\uXXXX escape", at);
    return at + 4;
  }

  private unescaped(begin: number, end: number): string {
    const string = JSON.parse(this.text.slice(begin, end)) as string; // it stands in quotes
    if (SURROGATE.test(string)) throw new Refused();
    return string;
  }

  private number(): number {
    const match = NUMBER;
    match.lastIndex = this.at;
    const found = match.exec(this.text);
    if (found === null) {
      if (/^(?:NaN|-?Infinity)/.test(this.text.slice(this.at, this.at + 9))) throw new Refused();
      throw new Malformed("expecting value", this.at);
    }
    const number = Number(found[0]);
    const isWhole = found[1] === undefined && found[2] === undefined;
    if (Math.abs(number) > MAX_INTEGER && (isWhole || Math.abs(number) < LARGEST || !Number.isFinite(number))) throw new Refused();
    this.at += found[0].length;
    return number;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;

/** An open object (with its keys so far) or array of the search. */
interface Level {
  readonly keys: Set<string> | null;
  key: string | null;
  position: number;
}

/** The slow pass, only for texts that are refused: every flaw up to `end`; syntax is not checked here. */
class Search {
  private readonly found: Flaw[] = [];
  private readonly levels: Level[] = [];
  constructor(private readonly text: string, private readonly end: number) {}

  flaws(): Flaw[] {
    for (let at = 0; at < this.end && this.found.length < MOST_FLAWS; ) {
      const token = this.token(at);
      if (token === "") {
        at += 1;
        continue;
      }
      if (!this.take(token, at)) break;
      at += token.length;
    }
    return this.found;
  }

  /** The token that begins here; "" for none. A string that nothing ends goes on to the end. */
  private token(at: number): string {
    if (this.text[at] === '"') {
      let to = at + 1;
      while (to < this.end && this.text[to] !== '"') to += this.text[to] === "\\" ? 2 : 1;
      return this.text.slice(at, Math.min(to + 1, this.end));
    }
    TOKEN.lastIndex = at;
    return TOKEN.exec(this.text)?.[0].slice(0, this.end - at) ?? "";
  }

  /** False if it goes no further. */
  private take(token: string, at: number): boolean {
    const level = this.levels.at(-1);
    if (token === "{" || token === "[") {
      this.levels.push({ keys: token === "{" ? new Set() : null, key: null, position: 0 });
      if (this.levels.length <= MAX_DEPTH) return true;
      this.found.push(flawAt(this.text, at, this.path(4), "too_deep", `Nesting of more than ${MAX_DEPTH} levels`, "Flatten the value."));
      return false;
    }
    if (token === "}" || token === "]") this.levels.pop();
    else if (token === ",") {
      if (level !== undefined) [level.key, level.position] = [null, level.position + 1];
    } else if (token.startsWith('"')) this.string(token, at, level);
    else if (/^[-0-9NI]/.test(token)) this.number(token, at);
    return true;
  }

  private string(token: string, at: number, level: Level | undefined): void {
    let string: string;
    try {
      const escaped = token.replace(/[\0-\x1f]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
      string = JSON.parse(escaped) as string; // as above
    } catch {
      return; // a bad escape: the quick pass reports it
    }
    if (level !== undefined && level.keys !== null && level.key === null) {
      level.key = string;
      if (level.keys.has(string)) this.note(at, "duplicate_key", `The key "${readable(string)}" for the second time`, "Keep one of the two.");
      level.keys.add(string);
    }
    if (SURROGATE.test(string)) this.found.push(loneSurrogate(this.text, at, this.path()));
  }

  private number(token: string, at: number): void {
    const number = Number(token);
    const isWhole = /^-?[0-9]+$/.test(token);
    if (token === "NaN" || token.endsWith("Infinity")) this.note(at, "not_finite", token, "Write a finite number; JSON has no such value.");
    else if (!isWhole && !Number.isFinite(number)) {
      this.note(at, "not_finite", `${shorter(token)}, which is beyond the largest number,`, "Write a finite number.");
    } else if (Math.abs(number) > MAX_INTEGER && (isWhole || Math.abs(number) < LARGEST)) {
      this.note(at, "integer_too_large", `The integer ${shorter(token)}, which is beyond 2^53-1,`, "Write a smaller number; other programs would round this one.");
    }
  }

  private note(at: number, code: string, found: string, advice: string): void {
    this.found.push(flawAt(this.text, at, this.path(), code, found, advice));
  }

  private path(levels = Infinity): Path {
    return this.levels.slice(0, levels).flatMap<string | number>((level) => {
      if (level.keys === null) return [level.position];
      return level.key === null ? [] : [readable(level.key)];
    });
  }
}

const TOKEN = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?Infinity|NaN|true|false|null|[[\]{},:]/y;

function flawAt(text: string, offset: number, path: Path, code: string, found: string, advice: string): Flaw {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const column = [...before.slice(before.lastIndexOf("\n") + 1)].length + 1; // characters, as Python counts them
  const position = `line ${line}, column ${column}`;
  const place = path.length === 0 ? position : `${pathText(path)} (${position})`;
  return { code, message: `${found} at ${place}. ${advice}`, path, line, column };
}

function loneSurrogate(text: string, offset: number, path: Path): Flaw {
  return flawAt(text, offset, path, "lone_surrogate", "A lone surrogate", "Replace it: half of a surrogate pair is no character.");
}

function readable(text: string): string {
  return shorter(text.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`));
}

function shorter(text: string, most = 40): string {
  const signs = [...text];
  return signs.length <= most ? text : `${signs.slice(0, most).join("")}...`;
}

// Writing.

/**
 * The text of a value: 2 spaces, line feeds, members in their order, and a line feed at the end.
 *
 * Throws (with the place) for what `readJson` would refuse: a number or text that JSON cannot carry safely, deep nesting.
 */
export function writeJson(value: Json): string {
  const parts: string[] = [];
  write(value, "\n", parts, []);
  parts.push("\n");
  return parts.join("");
}

function write(value: Json, newline: string, parts: string[], path: (string | number)[]): void {
  if (typeof value === "string") parts.push(quoted(value, path));
  else if (typeof value === "number") parts.push(numberText(value, path));
  else if (typeof value !== "object" || value === null) parts.push(String(value));
  else if (Array.isArray(value)) writeItems(value as readonly Json[], newline, parts, path); // `isArray` does not narrow read-only ones
  else writeMembers(value as { readonly [name: string]: Json }, newline, parts, path); // nothing else is left
}

function writeMembers(object: { readonly [name: string]: Json }, newline: string, parts: string[], path: (string | number)[]): void {
  const inner = deeper(newline, path);
  let separator = `{${inner}`;
  let isEmpty = true;
  for (const [name, member] of membersOf(object)) {
    if (member === undefined) continue; // as JSON.stringify does: an optional member that is not there
    parts.push(separator, quoted(name, path), ": ");
    path.push(name);
    write(member, inner, parts, path);
    path.pop();
    separator = `,${inner}`;
    isEmpty = false;
  }
  parts.push(isEmpty ? "{}" : `${newline}}`);
}

function writeItems(items: readonly Json[], newline: string, parts: string[], path: (string | number)[]): void {
  const inner = deeper(newline, path);
  items.forEach((item, at) => {
    parts.push(at === 0 ? `[${inner}` : `,${inner}`);
    path.push(at);
    write(item, inner, parts, path);
    path.pop();
  });
  parts.push(items.length === 0 ? "[]" : `${newline}]`);
}

function deeper(newline: string, path: Path): string {
  if (path.length >= MAX_DEPTH) throw new Error(`At ${pathText(path).slice(0, 60)}...: nesting of more than ${MAX_DEPTH} levels. Flatten the value.`);
  return `${newline}  `;
}

function numberText(number: number, path: Path): string {
  if (!Number.isFinite(number)) throw new Error(`At ${pathText(path)}: ${number} is not a finite number, and JSON has no other. Use a finite number.`);
  if (Math.abs(number) > MAX_INTEGER && Math.abs(number) < LARGEST) {
    throw new Error(`At ${pathText(path)}: ${number} is beyond 2^53-1, where other programs round. Use a smaller number.`);
  }
  return JSON.stringify(number);
}

function quoted(text: string, path: Path): string {
  if (SURROGATE.test(text)) throw new Error(`At ${pathText(path)}: a lone surrogate, which is no character. Replace it.`);
  return JSON.stringify(text);
}
