/** Whether two JSON values are the same, whatever the order of their members. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, index) => sameJson(one, b[index]));
  }
  const left = Object.entries(a);
  const right = b as { readonly [name: string]: unknown }; // an object
  return left.length === Object.keys(b).length && left.every(([name, value]) => name in right && sameJson(value, right[name]));
}
