/** Items as xyflow's nodes: the same object for the same item, so that only what changed is rendered again. */

import type { Node as FlowNodeOf } from "@xyflow/react";

import { t } from "../texts";
import type { FrameItem, Item, NodeItem, NoteItem } from "./scene";

export type FlowNode = FlowNodeOf<{ readonly item: Item }>;

const kept = { plain: new WeakMap<Item, FlowNode>(), selected: new WeakMap<Item, FlowNode>() };
const LAYER: { readonly [kind in Item["kind"]]: number } = { frame: -10, node: 0, note: 1 };

export function flowNodeOf(item: Item, isSelected: boolean): FlowNode {
  const before = kept[isSelected ? "selected" : "plain"].get(item);
  if (before !== undefined) return before;
  const made: FlowNode = {
    id: item.id, type: item.kind, position: { x: item.x, y: item.y }, data: { item }, selected: isSelected,
    width: item.width, height: item.height, measured: { width: item.width, height: item.height }, handles: [],
    zIndex: LAYER[item.kind], ariaLabel: nameOf(item),
    ...(item.kind === "frame" ? { dragHandle: "[data-frame-title]", style: { pointerEvents: "none" } } : {}),
  };
  kept[isSelected ? "selected" : "plain"].set(item, made);
  return made;
}

/** What an item is called, for screen readers. */
function nameOf(item: Item): string {
  if (item.kind === "frame") return t("canvas.frameNamed", { title: item.frame.title });
  if (item.kind === "note") return t("canvas.noteNamed", { text: item.note.text.slice(0, 60) });
  return t("canvas.nodeNamed", { title: titleOf(item), id: item.id });
}

export function titleOf(item: NodeItem): string {
  return item.view.title ?? item.type?.title ?? item.node.type;
}

export type { FrameItem, NodeItem, NoteItem };
