/** A small schematic of a workflow: its nodes as boxes where they lie, its links as curves. */

import { type WorkflowDocument, isLink, split } from "../model/document";

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const NODE_WIDTH = 220;
const HEAD = 34;
const ROW = 24;
const MARGIN = 10;
const HIGHEST_HEAD = 8;

/** Where each node is drawn, in the document's own pixels; nodes without a place go in rows. */
function boxes(document: WorkflowDocument): ReadonlyMap<string, Box> {
  const ids = Object.keys(document.nodes);
  const columns = Math.max(1, Math.ceil(Math.sqrt(ids.length)));
  return new Map(
    ids.map((id, index) => {
      const view = document.view?.nodes?.[id];
      const x = view?.x ?? (index % columns) * (NODE_WIDTH + 60);
      const y = view?.y ?? Math.floor(index / columns) * 180;
      const rows = Object.keys(document.nodes[id]?.inputs ?? {}).length;
      return [id, { x, y, width: view?.width ?? NODE_WIDTH, height: view?.collapsed ? HEAD : HEAD + ROW * Math.max(1, rows) }];
    }),
  );
}

/** Draw into a canvas of this size with these colours. */
export function draw(
  context: CanvasRenderingContext2D,
  document: WorkflowDocument,
  size: { readonly width: number; readonly height: number },
  colours: { readonly node: string; readonly line: string; readonly head: string; readonly wire: string },
): void {
  const all = boxes(document);
  context.clearRect(0, 0, size.width, size.height);
  if (all.size === 0) return;
  const list = [...all.values()];
  const left = Math.min(...list.map((box) => box.x));
  const top = Math.min(...list.map((box) => box.y));
  const width = Math.max(...list.map((box) => box.x + box.width)) - left;
  const height = Math.max(...list.map((box) => box.y + box.height)) - top;
  const scale = Math.min((size.width - 2 * MARGIN) / width, (size.height - 2 * MARGIN) / height, 0.5);
  // Most graphs are wide and flat: they are drawn higher than they are, or nothing could be seen.
  const high = Math.min((size.height - 2 * MARGIN) / height, 2.5 * scale);
  const placed = (box: Box): Box => ({
    x: (size.width - width * scale) / 2 + (box.x - left) * scale,
    y: (size.height - height * high) / 2 + (box.y - top) * high,
    width: box.width * scale,
    height: box.height * high,
  });
  context.strokeStyle = colours.wire;
  context.lineWidth = 1.2;
  for (const [id, node] of Object.entries(document.nodes)) {
    for (const value of Object.values(node.inputs)) {
      const from = isLink(value) ? all.get(split(value.link).node) : undefined;
      const to = all.get(id);
      if (from !== undefined && to !== undefined) drawWire(context, placed(from), placed(to));
    }
  }
  context.lineWidth = 1;
  for (const box of list) {
    const { x, y, width: wide, height: tall } = placed(box);
    context.fillStyle = colours.node;
    context.strokeStyle = colours.line;
    context.fillRect(x, y, wide, tall);
    context.fillStyle = colours.head;
    context.fillRect(x, y, wide, Math.max(2, Math.min(tall, HEAD * high, HIGHEST_HEAD)));
    context.strokeRect(x, y, wide, tall);
  }
}

function drawWire(context: CanvasRenderingContext2D, from: Box, to: Box): void {
  const [startX, startY, endX, endY] = [from.x + from.width, from.y + from.height / 2, to.x, to.y + to.height / 2];
  const bend = Math.max(4, Math.abs(endX - startX) / 2);
  context.beginPath();
  context.moveTo(startX, startY);
  context.bezierCurveTo(startX + bend, startY, endX - bend, endY, endX, endY);
  context.stroke();
}
