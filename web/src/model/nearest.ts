/**
 * A clause that helps with an unknown name, word for word as the server's (`graph.errors.nearest`).
 *
 * Python's `difflib` decides what is near: the ratio of Ratcliff and Obershelp, twice the matching characters over all.
 */

/** ' Did you mean "x"?', or ' Known: a, b, c.', or "" if nothing is known. */
export function nearest(name: string, known: Iterable<string>): string {
  const names = [...known].sort(byCodePoint);
  let best: { name: string; ratio: number } | null = null;
  for (const other of names) {
    const near = ratio(other, name);
    if (near >= 0.6 && (best === null || near >= best.ratio)) best = { name: other, ratio: near };
  }
  if (best !== null) return ` Did you mean "${best.name}"?`;
  return names.length === 0 ? "" : ` Known: ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", ..." : ""}.`;
}

/** Python's order of texts; JavaScript's goes by UTF-16 units. */
export function byCodePoint(one: string, other: string): number {
  const left = [...one], right = [...other];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = (left[at] as string).codePointAt(0)! - (right[at] as string).codePointAt(0)!; // below both lengths
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function ratio(one: string, other: string): number {
  const left = [...one], right = [...other];
  const length = left.length + right.length;
  // No more can match than the shorter one has: most names are told apart by that.
  if (length === 0) return 1;
  if ((2 * Math.min(left.length, right.length)) / length < 0.6) return 0;
  return (2 * matching(left, right, 0, left.length, 0, right.length)) / length;
}

/** Characters in the longest common block, and in those to its left and to its right. */
function matching(left: readonly string[], right: readonly string[], from: number, to: number, low: number, high: number): number {
  let size = 0, start = from, begin = low;
  let lengths = new Map<number, number>();
  for (let i = from; i < to; i += 1) {
    const next = new Map<number, number>();
    for (let j = low; j < high; j += 1) {
      if (left[i] !== right[j]) continue;
      const run = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, run);
      if (run > size) [size, start, begin] = [run, i - run + 1, j - run + 1];
    }
    lengths = next;
  }
  if (size === 0) return 0;
  return size + matching(left, right, from, start, low, begin) + matching(left, right, start + size, to, begin + size, high);
}
