/** What one does with an output, from its card, its menu and the large view alike. Refusals are said as the server told them. */

import { outputUrl, outputWorkflow, sentence, uploadFile } from "../../api/client";
import { type Output, fetchBlob } from "../../api/results";
import { freePlace, shownScope } from "../../drop/place";
import { addLoader, loaderOf } from "../../model/feed";
import { useCatalogue } from "../../state/catalogue";
import { useDocuments } from "../../state/documents";
import { refreshFiles } from "../../state/files";
import { useGallery } from "../../state/gallery";
import type { Point } from "../../state/camera";
import { middle } from "../../state/pointer";
import { openText } from "../../state/workflows";
import { t } from "../../texts";
import { say } from "../../ui/toasts";
import { download } from "../../ui/download";

/** Do it; what was refused is said. Whether it was done. */
export async function trying(action: () => Promise<void> | void): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    say(sentence(error), { kind: "bad" });
    return false;
  }
}

export function openItsWorkflow(output: Output): Promise<boolean> {
  return trying(async () => {
    const { workflow } = await outputWorkflow(output.id);
    openText(JSON.stringify(workflow), output.workflow);
  });
}

/** Outputs are no uploads: the bytes are brought among the files first, where workflows can name them. */
export function takeAsInput(output: Output): Promise<boolean> {
  return takePicture(outputUrl(output.id), output.file);
}

/** Any bytes of this server as an input of the document that is shown now. */
export function takePicture(url: string, name: string): Promise<boolean> {
  const { active } = useDocuments.getState();
  return trying(async () => {
    const upload = await uploadFile(await fetchBlob(url), name);
    refreshFiles();
    addFileNode({ file: upload.name, sha256: upload.sha256 }, upload.kind, middle(), { document: active });
  });
}

export interface Adding {
  /** The document that it was meant for: another may be shown when the bytes are here. */
  readonly document?: string;
  /** What is added with the same gesture is one step of undo. */
  readonly gesture?: string;
}

/** A node that opens the file; says so, or why there can be none. Whether there is one. */
export function addFileNode(file: { file: string; sha256: string }, kind: string, wanted: Point, { document, gesture }: Adding = {}): boolean {
  const loader = loaderOf(useCatalogue.getState().catalogue, kind);
  if (loader === undefined) {
    say(t("gallery.no_loader", { name: file.file, kind }), { kind: "warn" });
    return false;
  }
  const place = shownScope(document);
  const { edit, id } = addLoader(place.scope, loader, file, freePlace(loader.type, wanted, place));
  const { active, apply, select } = useDocuments.getState();
  apply("gallery.step_add_file", edit, gesture ?? null, place.id);
  if (place.id === active) select([id(place.document)]);
  say(t("gallery.added_node", { name: shortened(file.file), type: loader.type.id }), { kind: "good" });
  return true;
}

/** A long name by its beginning and its end. */
function shortened(name: string): string {
  return name.length <= 36 ? name : `${name.slice(0, 20)}...${name.slice(-12)}`;
}

export function star(output: Output): Promise<boolean> {
  return trying(() => useGallery.getState().star(output.id, !output.starred));
}

export function downloadOutput(output: Output, metadata: "all" | "none"): void {
  download(outputUrl(output.id, metadata === "none" ? { metadata } : {}), output.file);
}

export function copySeed(output: Output): Promise<boolean> {
  return trying(async () => {
    await navigator.clipboard.writeText(String(output.seed));
    say(t("gallery.seed_copied", { seed: String(output.seed) }), { kind: "good" });
  });
}
