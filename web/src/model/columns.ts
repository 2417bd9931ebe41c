/**
 * Layout in columns: each node right of all it depends on, crossings few, no backtracking. Takes milliseconds for
 * thousands of nodes. Pure; `layout.ts` runs it in a worker.
 */

import type { Places } from "./align";

export interface LayoutNode {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** Whether it is collapsed to its title. */
  readonly isFolded?: boolean;
}

export interface LayoutRequest {
  readonly nodes: readonly LayoutNode[];
  /** Between node ids; links to others are passed over. */
  readonly links: readonly { readonly from: string; readonly to: string }[];
  /** Upper left corner of the result; 0, 0 if not given. */
  readonly at?: { readonly x: number; readonly y: number };
}

/** Free space between columns, and between nodes of a column. */
export const COLUMN_GAP = 80;
export const ROW_GAP = 32;
const SWEEPS = 6;

/** Places in columns by the longest way from a source, the order in each by the middle of the neighbours'. */
export function layered(request: LayoutRequest): Places {
  const graph = new Columns(request);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) graph.sort(sweep % 2 === 0);
  return placed(graph.places(), request);
}

/** The places moved so that their upper left corner is the one asked for, as whole numbers. */
export function placed(places: ReadonlyMap<string, { x: number; y: number }>, { at = { x: 0, y: 0 } }: LayoutRequest): Places {
  const all = [...places.values()];
  const left = Math.min(...all.map((place) => place.x)), top = Math.min(...all.map((place) => place.y));
  return Object.fromEntries([...places].map(([id, { x, y }]) => [id, { x: Math.round(x - left + at.x), y: Math.round(y - top + at.y) }]));
}

class Columns {
  private readonly nodes: ReadonlyMap<string, LayoutNode>;
  private readonly before = new Map<string, string[]>();
  private readonly after = new Map<string, string[]>();
  private readonly columns: string[][] = [];

  constructor(request: LayoutRequest) {
    this.nodes = new Map(request.nodes.map((node) => [node.id, node]));
    for (const { id } of request.nodes) {
      this.before.set(id, []);
      this.after.set(id, []);
    }
    const seen = new Set<string>();
    for (const { from, to } of request.links) {
      const link = JSON.stringify([from, to]);
      if (from === to || seen.has(link) || !this.nodes.has(from) || !this.nodes.has(to)) continue;
      seen.add(link);
      this.after.get(from)?.push(to);
      this.before.get(to)?.push(from);
    }
    this.fill();
  }

  /** Each node one column after the last of those before it; of a circle, links back are passed over. */
  private fill(): void {
    const column = new Map<string, number>();
    const pending = new Map([...this.before].map(([id, sources]) => [id, sources.length]));
    const ready = [...this.nodes.keys()].filter((id) => pending.get(id) === 0);
    const queued = new Set(ready), rest = [...this.nodes.keys()].values();
    const queue = (id: string): void => {
      if (!queued.has(id)) ready.push(id);
      queued.add(id);
    };
    for (let next = 0; next < this.nodes.size; next += 1) {
      while (ready[next] === undefined) queue(rest.next().value as string); // only circles are left: begin anywhere
      const id = ready[next] as string; // below the length
      column.set(id, Math.max(-1, ...(this.before.get(id) ?? []).map((source) => column.get(source) ?? -1)) + 1);
      for (const target of this.after.get(id) ?? []) {
        const left = (pending.get(target) ?? 0) - 1;
        pending.set(target, left);
        if (left === 0) queue(target);
      }
    }
    this.pullRight(column, ready);
    for (const [id, at] of column) (this.columns[at] ??= []).push(id);
    for (let at = 0; at < this.columns.length; at += 1) this.columns[at] ??= [];
  }

  /** A node with nothing before it stands beside what it feeds, not at the far left. */
  private pullRight(column: Map<string, number>, ordered: readonly string[]): void {
    for (const id of ordered) {
      const targets = this.after.get(id) ?? [];
      if ((this.before.get(id)?.length ?? 0) > 0 || targets.length === 0) continue;
      const nearest = Math.min(...targets.map((target) => column.get(target) ?? 0));
      if (nearest > 0) column.set(id, nearest - 1);
    }
  }

  /** Sort each column by the mean place of its neighbours in the columns before it, or after it. */
  sort(forward: boolean): void {
    const neighbours = forward ? this.before : this.after;
    const rank = new Map(this.columns.flatMap((column) => column.map((id, at) => [id, at / Math.max(1, column.length - 1)] as const)));
    const order = forward ? this.columns.keys() : [...this.columns.keys()].reverse();
    for (const at of order) {
      const column = this.columns[at] ?? [];
      const wanted = new Map(column.map((id) => [id, mean((neighbours.get(id) ?? []).map((one) => rank.get(one) ?? 0)) ?? (rank.get(id) ?? 0)]));
      column.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
      column.forEach((id, place) => rank.set(id, place / Math.max(1, column.length - 1)));
    }
  }

  /** Columns beside each other; in each the nodes as near to the middle of those before them as their order lets them. */
  places(): Map<string, { x: number; y: number }> {
    const places = new Map<string, { x: number; y: number }>();
    let x = 0;
    for (const column of this.columns) {
      const wanted = column.map((id) => this.wanted(id, places));
      const tops = spread(wanted, column.map((id) => this.nodes.get(id)?.height ?? 0));
      column.forEach((id, at) => places.set(id, { x, y: tops[at] as number })); // one for each
      x += Math.max(0, ...column.map((id) => this.nodes.get(id)?.width ?? 0)) + COLUMN_GAP;
    }
    return places;
  }

  private wanted(id: string, places: ReadonlyMap<string, { x: number; y: number }>): number | null {
    const middles = (this.before.get(id) ?? []).flatMap((source) => {
      const place = places.get(source);
      return place === undefined ? [] : [place.y + (this.nodes.get(source)?.height ?? 0) / 2];
    });
    const middle = mean(middles);
    return middle === null ? null : middle - (this.nodes.get(id)?.height ?? 0) / 2;
  }
}

/**
 * Tops of boxes that keep their order and a gap, close to where they want to be: runs that push each other share the
 * middle of their wishes.
 */
function spread(wanted: readonly (number | null)[], heights: readonly number[]): number[] {
  let floor = 0;
  const wishes = wanted.map((wish, at) => {
    const top = wish ?? floor;
    floor = top + (heights[at] as number) + ROW_GAP; // one for each
    return top;
  });
  const runs: { from: number; size: number; sum: number; count: number }[] = [];
  wishes.forEach((wish, at) => {
    runs.push({ from: at, size: (heights[at] as number) + ROW_GAP, sum: wish, count: 1 }); // one for each
    for (;;) {
      const last = runs.at(-1), previous = runs.at(-2);
      if (last === undefined || previous === undefined || previous.sum / previous.count + previous.size <= last.sum / last.count) return;
      runs.pop();
      // What the later run wants, told from the top of the earlier one.
      previous.sum += last.sum - last.count * previous.size;
      previous.count += last.count;
      previous.size += last.size;
    }
  });
  const tops: number[] = [];
  runs.forEach((run, index) => {
    const to = runs[index + 1]?.from ?? wishes.length;
    let top = run.sum / run.count;
    for (let at = run.from; at < to; at += 1) {
      tops.push(top);
      top += (heights[at] as number) + ROW_GAP; // one for each
    }
  });
  return tops;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
