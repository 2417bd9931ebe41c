/**
 * Finding things by a few letters: every word typed must be found in one of a thing's fields; where and how well says which
 * comes first.
 */

/** What a thing can be found by: its texts, each with what finding it there counts. */
export interface Findable {
  readonly fields: readonly Field[];
}

export interface Field {
  readonly text: string;
  readonly weight: number;
  /** Whether letters that are only in order ("smp" for "sampler") and words with one slip are found too. */
  readonly isLoose: boolean;
  readonly words: readonly string[];
}

export function field(text: string, weight: number, isLoose = false): Field {
  const plain = plainText(text);
  return { text: plain, weight, isLoose, words: plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "") };
}

/** Without case and accents. */
export function plainText(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** The things found, the best first; in their order for an empty query. `bonus` is added for what is known beside the text. */
export function find<T extends Findable>(query: string, things: readonly T[], bonus: (thing: T) => number = () => 0): readonly T[] {
  const words = plainText(query).split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return things;
  return things
    .map((thing, order) => ({ thing, order, score: scoreOf(words, thing) }))
    .filter(({ score }) => score > 0)
    .map((found) => ({ ...found, score: found.score + bonus(found.thing) }))
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .map(({ thing }) => thing);
}

/** 0 if one of the words is nowhere. */
function scoreOf(words: readonly string[], { fields }: Findable): number {
  let sum = 0;
  for (const word of words) {
    let best = 0;
    for (const one of fields) best = Math.max(best, one.weight * closeness(word, one));
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

/** How well a word is found in a field: 1 the field is the word, 0 not at all. */
function closeness(word: string, { text, words, isLoose }: Field): number {
  if (text === word) return 1;
  if (text.startsWith(word)) return 0.9;
  if (words.includes(word)) return 0.85;
  if (words.some((one) => one.startsWith(word))) return 0.75;
  if (text.includes(word)) return 0.5;
  if (!isLoose || word.length < 2) return 0;
  if (initialsOf(words).startsWith(word)) return 0.45;
  if (word.length >= 4 && words.some((one) => isOneSlip(word, one))) return 0.35;
  return inOrder(word, text) ? 0.2 : 0;
}

function initialsOf(words: readonly string[]): string {
  return words.map((word) => word.charAt(0)).join("");
}

/** Whether the letters of the word stand in the text in this order, not too far apart. */
function inOrder(word: string, text: string): boolean {
  for (let start = text.indexOf(word.charAt(0)); start >= 0; start = text.indexOf(word.charAt(0), start + 1)) {
    let at = start;
    for (const letter of word.slice(1)) {
      at = text.indexOf(letter, at + 1);
      if (at < 0) return false;
    }
    if (at - start < word.length * 3) return true;
  }
  return false;
}

/** Whether the two, or the beginning of the second, differ by one letter: another, one more, one less, or two swapped. */
function isOneSlip(typed: string, word: string): boolean {
  for (const length of [typed.length - 1, typed.length, typed.length + 1]) {
    if (length <= word.length && length >= 3 && differByOne(typed, word.slice(0, length))) return true;
  }
  return false;
}

function differByOne(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA.slice(1) === restB.slice(1)) return true;
  if (restA.slice(1) === restB || restA === restB.slice(1)) return true;
  return restA.length > 1 && restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}

/** The things by what they are called, in the order in which that is first met. */
export function grouped<T>(things: readonly T[], name: (thing: T) => string): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const thing of things) found.set(name(thing), [...(found.get(name(thing)) ?? []), thing]);
  return found;
}
