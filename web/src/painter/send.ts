/** A painted mask goes among the uploaded files and becomes a node of the document that is shown: one step of undo. */

import { uploadFile } from "../api/client";
import { freePlace, shownScope } from "../drop/place";
import { feedMask, maskLoader, maskPort } from "../model/feed";
import { scopeOf } from "../model/document";
import { trying } from "../panels/gallery/actions";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, useDocuments } from "../state/documents";
import { refreshFiles } from "../state/files";
import { middle } from "../state/pointer";
import { t } from "../texts";
import { say } from "../ui/toasts";

/** Whether it is in the document. */
export function sendMask(mask: Blob, name: string): Promise<boolean> {
  return trying(async () => {
    const { catalogue } = useCatalogue.getState();
    const loader = maskLoader(catalogue);
    if (loader === undefined) throw new Error(t("gallery.no_loader", { name, kind: "image" }));
    const upload = await uploadFile(mask, name);
    refreshFiles();
    const { scope, document } = shownScope();
    const selected = selectedNode();
    const file = { file: upload.name, sha256: upload.sha256 };
    useDocuments.getState().apply("gallery.step_mask", feedMask(scope, catalogue, loader, file, selected, freePlace(loader.type, middle())));
    const after = activeDocument()?.history.document;
    const made = after === undefined ? undefined : newNode(scopeOf(document, scope).nodes, scopeOf(after, scope).nodes);
    const port = selected === undefined ? undefined : maskPort(document, scope, catalogue, selected);
    const isWired = after !== undefined && port !== undefined && isLinkedTo(scopeOf(after, scope).nodes[selected ?? ""]?.inputs[port.name], made);
    if (!isWired && made !== undefined) useDocuments.getState().select([made]);
    const type = loader.type.id;
    say(isWired ? t("gallery.mask_wired", { to: `${selected}.${port.name}` }) : t("gallery.mask_added", { type }), { kind: "good" });
  });
}

function selectedNode(): string | undefined {
  const selection = [...(activeDocument()?.selection ?? [])].filter((id) => !id.includes(":"));
  return selection.length === 1 ? selection[0] : undefined;
}

function newNode(before: object, after: object): string | undefined {
  return Object.keys(after).find((id) => !(id in before));
}

function isLinkedTo(value: unknown, node: string | undefined): boolean {
  return node !== undefined && typeof value === "object" && value !== null && "link" in value && String(value.link).startsWith(`${node}.`);
}
