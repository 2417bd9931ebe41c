/** Copying and pasting parts of a document: what the commands and the browser's clipboard events do. */

import { writeDocument } from "../model/canonical";
import { copyFragment, pasteFragment } from "../model/clipboard";
import type { WorkflowDocument } from "../model/document";
import { removeItems } from "../model/edit";
import { readDocument } from "../model/read";
import { viewOf } from "../model/view";
import { activeDocument, useDocuments } from "../state/documents";
import type { Point } from "../state/palette";
import { type TextKey, t } from "../texts";
import { say } from "../ui/toasts";
import { type Here, apply, around, boxOf, here, nodesIn } from "./here";

/** What was copied last, for where the clipboard cannot be read. */
let copied = "";
export function lastCopied(): string {
  return copied;
}

/** The selected items and what lies in selected frames, as the text of a workflow; null if nothing is selected. */
export function selectionText(): string | null {
  const at = here();
  if (at === null || at.items.length === 0) return null;
  copied = writeDocument(copyFragment(at.document, at.scopeId, withFramed(at)));
  return copied;
}

/** The selection with the nodes in selected frames. */
function withFramed(at: Here): readonly string[] {
  const framed = viewOf(at.scope).frames.filter(({ id }) => at.frames.includes(id)).flatMap((frame) => nodesIn(at, frame));
  return [...new Set([...at.items, ...framed])];
}

export function cutSelection(): void {
  const at = here();
  if (at === null) return;
  apply("edit.cut", removeItems(at.scopeId, withFramed(at)));
  useDocuments.getState().select([]);
}

/** Put the text into the clipboard, as far as the browser lets us without being asked by keys. */
export async function toClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    say(t("edit.copied_here"));
  }
}

/** Whether the text is meant to be a workflow, whole or not. */
function looksLikeWorkflow(text: string): boolean {
  return text.trimStart().startsWith("{") && text.includes('"latentgraph/workflow"');
}

/** Whether it is a workflow of its own: what is copied from a canvas has no name, no inputs and no outputs. */
function isWhole({ name, inputs, outputs }: WorkflowDocument): boolean {
  return name !== undefined || inputs !== undefined || outputs !== undefined;
}

/** Paste a workflow's text: a whole one opens in a tab of its own, a part of one goes into what is shown. Whether it was one; flaws are told. */
export function pasteText(text: string, at: Point, withLinks: boolean): boolean {
  if (!looksLikeWorkflow(text)) return false;
  const read = readDocument(text);
  if ("flaws" in read) say(t("edit.paste_flawed", { flaw: read.flaws[0]?.message ?? "" }), { kind: "bad" });
  else if (isWhole(read.document) && !withLinks) useDocuments.getState().add(read.document);
  else paste(read.document, at, withLinks, "edit.paste");
  return true;
}

/** Put the fragment into the scope that is shown and select what came of it. */
function paste(fragment: WorkflowDocument, at: Point, withLinks: boolean, title: TextKey): void {
  const [now, one] = [here(), activeDocument()];
  if (now === null || one === undefined) return;
  const pasted = pasteFragment(now.scopeId, fragment, free(now, at), { withLinks });
  const ids = pasted.ids(now.document);
  apply(title, pasted.edit);
  useDocuments.getState().select(ids);
}

/** Not exactly upon what is there, as when one pastes twice: one would not see that there are two. */
function free(now: Here, { x, y }: Point): Point {
  const { nodes, frames, notes } = viewOf(now.scope);
  const corners = [...Object.values(nodes), ...frames, ...notes].map((box) => `${box.x ?? 0} ${box.y ?? 0}`);
  const taken = new Set(corners);
  let step = 0;
  while (taken.has(`${x + step} ${y + step}`)) step += 32;
  return { x: x + step, y: y + step };
}

/** The selected items once more, a little lower and to the right, linked to what they are linked to. */
export function duplicateSelection(): void {
  const at = here();
  if (at === null) return;
  const items = withFramed(at);
  const corner = around(items.map((item) => boxOf(at, item)));
  if (corner === null) return;
  paste(copyFragment(at.document, at.scopeId, items), { x: corner.x + 40, y: corner.y + 40 }, true, "edit.duplicate");
}
