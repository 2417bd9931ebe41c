/** Layout by dagre, which looks better than our own pass and takes time with the square of the nodes. Loaded in the worker. */

import { Graph, layout } from "@dagrejs/dagre";

import type { Places } from "./align";
import { COLUMN_GAP, type LayoutRequest, ROW_GAP, placed } from "./columns";

export function byDagre(request: LayoutRequest): Places {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: "LR", ranksep: COLUMN_GAP, nodesep: ROW_GAP });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of request.nodes) graph.setNode(id, { width, height });
  for (const { from, to } of request.links) if (from !== to && graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  layout(graph);
  const places = request.nodes.map(({ id, width, height }) => {
    const { x, y } = graph.node(id) as { x: number; y: number }; // dagre has placed it
    return [id, { x: x - width / 2, y: y - height / 2 }] as const;
  });
  return placed(new Map(places), request);
}
