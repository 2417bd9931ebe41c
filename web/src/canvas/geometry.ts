/** Curves of wires, distances to them, and rectangles. Numbers only; in the document's units. */

export interface Point {
  readonly x: number;
  readonly y: number;
}
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
/** A cubic curve: start, two controls, end. */
export type Curve = readonly [Point, Point, Point, Point];

export const GRID = 8;

export function snapped(value: number): number {
  return Math.round(value / GRID) * GRID;
}

/**
 * A wire from an output through its points to an input. It leaves to the right and arrives from the left; one that goes back
 * and has no points turns round along `lane`, a height at which nothing lies in its way.
 */
export function curvesOf(from: Point, to: Point, through: readonly Point[] = [], lane?: number): readonly Curve[] {
  if (lane !== undefined && through.length === 0 && to.x < from.x) return turned(from, to, lane);
  const stops = [from, ...through, to];
  const curves: Curve[] = [];
  for (let at = 0; at + 1 < stops.length; at++) {
    const start = stops[at] as Point; // there are so many
    const end = stops[at + 1] as Point; // as above
    const bend = bendOf(start, end);
    curves.push([start, { x: start.x + bend, y: start.y }, { x: end.x - bend, y: end.y }, end]);
  }
  return curves;
}

const TURN = 18;
const ROUND = 12;

/** Out to the right, along the lane, and in from the left, with round corners. */
function turned(from: Point, to: Point, lane: number): readonly Curve[] {
  const [right, left] = [from.x + TURN, to.x - TURN];
  const stops = [from, { x: right, y: from.y }, { x: right, y: lane }, { x: left, y: lane }, { x: left, y: to.y }, to];
  const curves: Curve[] = [];
  let last = from;
  for (let at = 1; at + 1 < stops.length; at++) {
    const corner = stops[at] as Point;
    const radius = Math.min(ROUND, halfWay(stops[at - 1] as Point, corner), halfWay(corner, stops[at + 1] as Point));
    const start = towards(corner, stops[at - 1] as Point, radius);
    const end = towards(corner, stops[at + 1] as Point, radius);
    curves.push(straight(last, start), [start, towards(start, corner, radius * 0.55), towards(end, corner, radius * 0.55), end]);
    last = end;
  }
  return [...curves, straight(last, to)];
}

function halfWay(a: Point, b: Point): number {
  return Math.hypot(b.x - a.x, b.y - a.y) / 2;
}

function towards(from: Point, to: Point, by: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  return length === 0 ? from : { x: from.x + ((to.x - from.x) * by) / length, y: from.y + ((to.y - from.y) * by) / length };
}

function straight(a: Point, b: Point): Curve {
  return [a, a, b, b];
}

const LANE_GAP = 10;

/** Where a wire that goes back from one box to another passes: between them, near the lower one; above both if they overlap. */
export function laneBetween(source: Box, target: Box): number {
  const [upper, lower] = source.y <= target.y ? [source, target] : [target, source];
  const gap = lower.y - (upper.y + upper.height);
  return gap > 0 ? lower.y - Math.min(LANE_GAP, gap / 2) : upper.y - LANE_GAP;
}

/** How far the controls lie from the ends: half the way, more for a wire that goes back. */
function bendOf(start: Point, end: Point): number {
  const across = end.x - start.x;
  return across >= 0 ? Math.min(across / 2, 160) + 4 : Math.min(160, 24 + Math.sqrt(-across) * 6);
}

export function pathOf(curves: readonly Curve[]): string {
  const first = curves[0];
  if (first === undefined) return "";
  const parts = curves.map(([, a, b, end]) => `C${a.x},${a.y} ${b.x},${b.y} ${end.x},${end.y}`);
  return `M${first[0].x},${first[0].y}${parts.join("")}`;
}

export function along([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t;
  const [p, q, r, w] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
  return { x: p * a.x + q * b.x + r * c.x + w * d.x, y: p * a.y + q * b.y + r * c.y + w * d.y };
}

/** The box around a wire: around its ends and controls, which a cubic curve never leaves. */
export function boxAround(curves: readonly Curve[]): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const curve of curves) {
    for (const point of curve) {
      left = Math.min(left, point.x);
      right = Math.max(right, point.x);
      top = Math.min(top, point.y);
      bottom = Math.max(bottom, point.y);
    }
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** How near a wire comes to a point, and on which of its curves: with points, curve n leads to the n-th of them. */
export function nearest(curves: readonly Curve[], point: Point, samples = 20): { readonly distance: number; readonly index: number } {
  let best = { distance: Infinity, index: 0 };
  curves.forEach((curve, index) => {
    for (let at = 0; at <= samples; at++) {
      const { x, y } = along(curve, at / samples);
      const distance = Math.hypot(x - point.x, y - point.y);
      if (distance < best.distance) best = { distance, index };
    }
  });
  return best;
}

export function meet(a: Box, b: Box): boolean {
  return a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;
}

export function holds(outer: Box, inner: Box): boolean {
  return inner.x >= outer.x && inner.y >= outer.y
    && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;
}

export function isIn(box: Box, { x, y }: Point, margin = 0): boolean {
  return x >= box.x - margin && x <= box.x + box.width + margin && y >= box.y - margin && y <= box.y + box.height + margin;
}

export function grown(box: Box, by: number): Box {
  return { x: box.x - by, y: box.y - by, width: box.width + 2 * by, height: box.height + 2 * by };
}

export function middleOf(box: Box): Point {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** The box around several; null for none. */
export function around(boxes: Iterable<Box>): Box | null {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    left = Math.min(left, box.x);
    top = Math.min(top, box.y);
    right = Math.max(right, box.x + box.width);
    bottom = Math.max(bottom, box.y + box.height);
  }
  return left === Infinity ? null : { x: left, y: top, width: right - left, height: bottom - top };
}

/** The box between two corners, whichever they are. */
export function between(a: Point, b: Point): Box {
  return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
}

export interface View {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

/** The viewport that shows a box whole, in the middle. */
export function viewOf(box: Box, width: number, height: number, least: number, most: number, margin = 40): View {
  const zoom = Math.min(most, Math.max(least, Math.min((width - 2 * margin) / box.width, (height - 2 * margin) / box.height)));
  const middle = middleOf(box);
  return { x: width / 2 - middle.x * zoom, y: height / 2 - middle.y * zoom, zoom };
}

/** What a viewport shows, in the document's units. */
export function seen(view: View, width: number, height: number): Box {
  return { x: -view.x / view.zoom, y: -view.y / view.zoom, width: width / view.zoom, height: height / view.zoom };
}
