/** Room for something new among what is there. */

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const MARGIN = 24;
/** So far is looked, in boxes; beyond it the place wanted is taken as it is. */
const FARTHEST = 40;

/** The place nearest to the one wanted (rings around it, below first) where the box covers nothing. */
export function roomFor(wanted: Box, taken: readonly Box[]): Box {
  const at = { ...wanted, x: Math.round(wanted.x), y: Math.round(wanted.y) };
  const [across, down] = [Math.round(wanted.width / 2), Math.round(wanted.height / 2)];
  for (let ring = 0; ring <= FARTHEST; ring++) {
    for (const [x, y] of around(ring)) {
      const box = { ...at, x: at.x + x * across, y: at.y + y * down };
      if (taken.every((other) => !covers(box, other))) return box;
    }
  }
  return at;
}

function covers(a: Box, b: Box): boolean {
  return (
    a.x < b.x + b.width + MARGIN && b.x < a.x + a.width + MARGIN && a.y < b.y + b.height + MARGIN && b.y < a.y + a.height + MARGIN
  );
}

/** The steps of a square ring, the nearest first; of the same distance the one below first. */
function around(ring: number): readonly (readonly [number, number])[] {
  const steps: [number, number][] = [];
  for (let x = -ring; x <= ring; x++) {
    for (let y = -ring; y <= ring; y++) if (Math.max(Math.abs(x), Math.abs(y)) === ring) steps.push([x, y]);
  }
  return steps.sort((a, b) => Math.hypot(...a) - Math.hypot(...b) || b[1] - a[1]);
}
