/**
 * Folded nodes in a row stand below each other, as one block under the node that feeds them: side by side they would take
 * a column each for a line of text.
 */

import type { Places } from "./align";
import type { LayoutNode, LayoutRequest } from "./columns";

/** Between the nodes of a block. */
const GAP = 20;

/** The layout with such blocks laid out as one node each. */
export function withStacks(lay: (request: LayoutRequest) => Places): (request: LayoutRequest) => Places {
  return (request) => {
    const blocks = blocksOf(request);
    if (blocks.length === request.nodes.length) return lay(request);
    const head = new Map(blocks.flatMap((block) => block.map(({ id }) => [id, (block[0] as LayoutNode).id] as const)));
    const places = lay({
      ...request,
      nodes: blocks.map((block) => ({ id: (block[0] as LayoutNode).id, width: Math.max(...block.map(({ width }) => width)), height: heightOf(block) })),
      links: request.links.map(({ from, to }) => ({ from: head.get(from) ?? from, to: head.get(to) ?? to })).filter(({ from, to }) => from !== to),
    });
    return Object.fromEntries(blocks.flatMap((block) => {
      const { x, y } = places[(block[0] as LayoutNode).id] as { x: number; y: number }; // every node is placed
      return block.map(({ id }, at) => [id, { x, y: y + (at === 0 ? 0 : heightOf(block.slice(0, at)) + GAP) }] as const);
    }));
  };
}

function heightOf(block: readonly LayoutNode[]): number {
  return block.reduce((sum, { height }) => sum + height, GAP * (block.length - 1));
}

/** Each node with the folded ones that follow it: fed by nothing else, and the only thing that the one before feeds. */
function blocksOf({ nodes, links }: LayoutRequest): LayoutNode[][] {
  const [before, after] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  const known = new Map(nodes.map((node) => [node.id, node]));
  const add = (map: Map<string, Set<string>>, from: string, to: string): void => void map.set(from, (map.get(from) ?? new Set()).add(to));
  for (const { from, to } of links) {
    if (from === to || !known.has(from) || !known.has(to)) continue;
    add(after, from, to);
    add(before, to, from);
  }
  const nextOf = (id: string): LayoutNode | undefined => {
    const [next, more] = after.get(id) ?? [];
    const node = next === undefined || more !== undefined ? undefined : known.get(next);
    return node?.isFolded === true && before.get(node.id)?.size === 1 ? node : undefined;
  };
  const follows = new Set(nodes.map(({ id }) => nextOf(id)?.id));
  const blocks: LayoutNode[][] = [];
  const taken = new Set<string>();
  // What follows something is in its block; only of a circle nothing comes first.
  for (const node of [...nodes.filter(({ id }) => !follows.has(id)), ...nodes]) {
    const block: LayoutNode[] = [];
    for (let one: LayoutNode | undefined = node; one !== undefined && !taken.has(one.id); one = nextOf(one.id)) {
      taken.add(one.id);
      block.push(one);
    }
    if (block.length > 0) blocks.push(block);
  }
  return blocks;
}
