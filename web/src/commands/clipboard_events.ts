/**
 * The browser's copy, cut and paste events: the way to the clipboard that needs no permission. In fields and with marked
 * text they are the browser's own.
 */

import { makerOfText } from "../model/foreign";
import { offer, pasteHandlers } from "../state/clipboard";
import { type Point } from "../state/palette";
import { menuTarget } from "../state/menu";
import { pointed } from "../state/pointer";
import { t } from "../texts";
import { isDialogOpen } from "../ui/dialogs";
import { say } from "../ui/toasts";
import { cutSelection, lastCopied, pasteText, selectionText } from "./fragments";
import { isTyping } from "./focus";
import { spellings } from "./keys";

pasteHandlers.unshift(({ text, at, withLinks }) => text !== "" && pasteText(text, at, withLinks));

/** Listen from now on; the function that ends it. */
export function listenToClipboard(target: Document | HTMLElement = document): () => void {
  let withLinks = false;
  const copyOrCut = (event: Event): void => {
    if (!(event instanceof ClipboardEvent) || isElsewhere(event) || hasMarkedText()) return;
    const text = selectionText();
    if (text === null) return;
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
    if (event.type === "cut") cutSelection();
  };
  const paste = (event: Event): void => {
    if (!(event instanceof ClipboardEvent) || isElsewhere(event)) return;
    event.preventDefault();
    const { clipboardData } = event;
    void take(clipboardData?.getData("text/plain") ?? "", [...(clipboardData?.files ?? [])], withLinks, pointed());
    withLinks = false;
  };
  // Both keys for pasting give the same event: with Shift it is the one with links.
  const key = (event: Event): void => {
    if (event instanceof KeyboardEvent) withLinks = spellings(event).includes("Mod+Shift+V");
  };
  const listeners = [["copy", copyOrCut], ["cut", copyOrCut], ["paste", paste], ["keydown", key]] as const;
  for (const [name, listener] of listeners) target.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of listeners) target.removeEventListener(name, listener);
  };
}

/** From a menu: where the browser does not let us read its clipboard, what was copied here is pasted. */
export async function pasteFromClipboard(withLinks: boolean): Promise<void> {
  const target = menuTarget();
  const at = target?.kind === "canvas" && target.at !== undefined ? target.at : pointed();
  let text = lastCopied();
  try {
    text = await navigator.clipboard.readText();
  } catch {
    if (text === "") say(t("edit.cannot_read_clipboard"), { kind: "warn" });
  }
  if (text !== "") await take(text, [], withLinks, at);
}

async function take(text: string, files: readonly File[], withLinks: boolean, at: Point): Promise<void> {
  if (text === "" && files.length === 0) return;
  if (await offer({ text, files, at, withLinks })) return;
  const maker = makerOfText(text);
  say(maker === undefined ? t("edit.nothing_to_paste") : t("documents.foreign", { maker }), { kind: "warn" });
}

function isElsewhere(event: ClipboardEvent): boolean {
  return event.defaultPrevented || isTyping(event.target) || isTyping(document.activeElement) || isDialogOpen();
}

function hasMarkedText(): boolean {
  const marked = window.getSelection();
  return marked !== null && !marked.isCollapsed && marked.toString() !== "";
}
