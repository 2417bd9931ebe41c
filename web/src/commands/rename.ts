import { type NodeView } from "../model/document";
import { itemOf, renameNode, setFrame, setNodeView } from "../model/edit";
import { portsOf } from "../model/ports";
import { nodeViewOf, viewOf } from "../model/view";
import { useDocuments } from "../state/documents";
import { t } from "../texts";
import { askText } from "../ui/ask";
import type { Command } from "./command";
import { apply, here } from "./here";

const command: Command = {
  id: "rename",
  title: "edit.rename",
  group: "edit.nodes",
  keys: ["F2"],
  enabled: () => renamable() !== null,
  run() {
    const item = renamable();
    if (item !== null) void renameItem(item);
  },
};
export default command;

/** The one selected node or frame. */
function renamable(): string | null {
  const at = here();
  const item = at?.items[0];
  return at === null || item === undefined || at.items.length !== 1 || item.startsWith("note:") ? null : item;
}

/** Ask for a node's or frame's title; with the gesture that made it, that is one step of undo with it. */
export async function renameItem(item: string, gesture: string | null = null): Promise<void> {
  const at = here();
  if (at === null) return;
  const { kind, id } = itemOf(item);
  const before = kind === "frame" ? (viewOf(at.scope).frames.find((frame) => frame.id === id)?.title ?? "") : (nodeViewOf(at.scope, id).title ?? "");
  const type = kind === "node" ? portsOf(at.document, at.scopeId, at.catalogue, id).type : undefined;
  const hint = kind === "frame" ? undefined : t("edit.title_hint", { id });
  const title = await askText({ title: t("edit.rename"), label: t("edit.title"), value: before, isEmptyAllowed: true, placeholder: type?.title ?? "", ...(hint === undefined ? {} : { hint }) });
  if (title === null) return;
  const part: Pick<NodeView, "title"> = { title };
  apply("edit.rename", kind === "frame" ? setFrame(at.scopeId, id, part) : setNodeView(at.scopeId, [id], part), gesture);
}

/** Give a node another id; links and what names it go with it. */
export function renameId(scopeId: string, id: string, wanted: string): void {
  apply("edit.rename", renameNode(scopeId, id, wanted));
  useDocuments.getState().select([wanted]);
}
