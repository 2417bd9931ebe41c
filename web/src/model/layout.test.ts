import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Places } from "./align";
import { byDagre } from "./dagre";
import { type LayoutRequest, layered } from "./columns";
import { arrange } from "./layout";

function graph(size: number, links: readonly (readonly [number, number])[]): LayoutRequest {
  return {
    nodes: Array.from({ length: size }, (_, at) => ({ id: `n${at}`, width: 200 + (at % 3) * 40, height: 60 + (at % 5) * 30 })),
    links: links.map(([from, to]) => ({ from: `n${from}`, to: `n${to}` })),
  };
}

function overlaps(request: LayoutRequest, places: Places): boolean {
  const boxes = request.nodes.map((node) => ({ ...node, ...(places[node.id] as { x: number; y: number }) }));
  return boxes.some((one, at) => boxes.slice(at + 1).some((other) =>
    one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height));
}

const LINKS = fc.integer({ min: 1, max: 40 }).chain((size) => fc.tuple(fc.constant(size), fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 80 })));

describe.each([["our own pass", layered], ["dagre", byDagre]])("layout by %s", (_, lay) => {
  it("puts every node right of what it depends on, and none on another", () => {
    fc.assert(
      fc.property(LINKS, ([size, pairs]) => {
        const request = graph(size, pairs.filter(([from, to]) => from < to));
        const places = lay(request);
        expect(Object.keys(places).sort()).toEqual(request.nodes.map((node) => node.id).sort());
        for (const { from, to } of request.links) {
          const source = request.nodes.find((node) => node.id === from);
          expect((places[to]?.x ?? 0) - (places[from]?.x ?? 0)).toBeGreaterThanOrEqual(source?.width ?? 0);
        }
        expect(overlaps(request, places)).toBe(false);
      }),
      { numRuns: 30, seed: 4 },
    );
  });

  it("lays out circles and links to what is not there without overlap", () => {
    const request = graph(4, [[0, 1], [1, 0], [2, 2], [1, 3], [3, 9]]);
    expect(overlaps(request, lay(request))).toBe(false);
  });

  it("begins where it is asked to, with whole numbers", () => {
    const places = Object.values(lay({ ...graph(5, [[0, 1], [0, 2], [2, 3]]), at: { x: -50, y: 30 } }));
    expect(Math.min(...places.map((place) => place.x))).toBe(-50);
    expect(Math.min(...places.map((place) => place.y))).toBe(30);
    expect(places.every((place) => Number.isInteger(place.x) && Number.isInteger(place.y))).toBe(true);
  });

  it("gives the same places again", () => {
    const request = graph(20, Array.from({ length: 30 }, (_none, at) => [at % 7, 7 + ((at * 5) % 13)] as const));
    expect(lay(request)).toEqual(lay(request));
  });
});

describe("our own pass", () => {
  it("stands a source beside what it feeds", () => {
    const places = layered(graph(5, [[0, 1], [1, 2], [2, 3], [4, 3]]));
    expect(places["n4"]?.x).toBe(places["n2"]?.x);
  });

  it("untangles two crossing chains", () => {
    const places = layered(graph(4, [[0, 3], [1, 2]]));
    const above = (one: string, other: string): boolean => (places[one]?.y ?? 0) < (places[other]?.y ?? 0);
    expect(above("n0", "n1")).toBe(above("n3", "n2"));
  });

  it("lays out 2,000 nodes in less than a second", () => {
    const request = graph(2_000, Array.from({ length: 4_000 }, (_, at) => [Math.floor(at / 2) * 0.9 | 0, Math.min(1_999, Math.floor(at / 2) + 1)] as const));
    const begin = performance.now();
    layered(request);
    expect(performance.now() - begin).toBeLessThan(1_000);
  });

  it("is used where there are no workers, and lays out nothing", async () => {
    const request = graph(3, [[0, 1]]);
    expect(typeof Worker).toBe("undefined");
    expect(await arrange(request)).toEqual(layered(request));
    expect(layered({ nodes: [], links: [] })).toEqual({});
  });
});
