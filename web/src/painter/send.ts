/** A painted mask goes among the uploaded files and into the document that is shown: one step of undo. */

import { uploadFile } from "../api/client";
import { freePlace, shownScope } from "../drop/place";
import { scopeOf, split } from "../model/document";
import { maskLoader } from "../model/feed";
import { type MaskTarget, feedMask, maskTargets } from "../model/masks";
import { WIDTH } from "../model/measure";
import { trying } from "../panels/gallery/actions";
import type { Point } from "../state/camera";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, scopeAt, useDocuments } from "../state/documents";
import { refreshFiles } from "../state/files";
import { middle } from "../state/pointer";
import { t } from "../texts";
import { say } from "../ui/toasts";

/** How far left of the node that it feeds, and how far down, a new node is wanted. */
const BESIDE = { x: -320, y: 120 };

/** Where a mask can go in the document that is shown, the best first. */
export function placesForMask(): readonly MaskTarget[] {
  const one = activeDocument();
  if (one === undefined) return [{ kind: "node" }];
  const { document } = one.history;
  return maskTargets(document, scopeAt(document, one.path), useCatalogue.getState().catalogue, selectedNode());
}

/** Whether it is in the document. */
export function sendMask(mask: Blob, name: string, target: MaskTarget): Promise<boolean> {
  return trying(async () => {
    const loader = maskLoader(useCatalogue.getState().catalogue);
    if (loader === undefined) throw new Error(t("gallery.no_loader", { name, kind: "image" }));
    const upload = await uploadFile(mask, name);
    refreshFiles();
    const { scope, document } = shownScope();
    const file = { file: upload.name, sha256: upload.sha256 };
    const at = freePlace(loader.type, target.kind === "port" ? beside(split(target.to).node) : middle());
    useDocuments.getState().apply("gallery.step_mask", feedMask(scope, loader, file, target, at));
    const after = activeDocument();
    const made = after === undefined ? undefined : newNode(scopeOf(document, scope).nodes, scopeOf(after.history.document, scope).nodes);
    if (target.kind === "node" && made !== undefined) useDocuments.getState().select([made]);
    say(told(target, loader.type.id), { kind: "good" });
  });
}

function told(target: MaskTarget, type: string): string {
  if (target.kind === "file") return t("gallery.mask_replaced", { node: target.node });
  return target.kind === "port" ? t("gallery.mask_wired", { to: target.to }) : t("gallery.mask_added", { type });
}

/** The middle of a node's title, left of another one. */
function beside(node: string): Point {
  const { scope, document } = shownScope();
  const { x = 0, y = 0 } = scopeOf(document, scope).view?.nodes?.[node] ?? {};
  return { x: x + BESIDE.x + WIDTH / 2, y: y + BESIDE.y };
}

function selectedNode(): string | undefined {
  const selection = [...(activeDocument()?.selection ?? [])].filter((id) => !id.includes(":"));
  return selection.length === 1 ? selection[0] : undefined;
}

function newNode(before: object, after: object): string | undefined {
  return Object.keys(after).find((id) => !(id in before));
}
