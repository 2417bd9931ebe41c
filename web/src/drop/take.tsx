/** Takes files that somebody dropped, pasted or chose: workflows are opened, pictures and films become nodes that load them. */

import { fileWorkflow, readOutput, sentence, uploadFile } from "../api/client";
import { type Upload, isRefusal, outputAsFile } from "../api/results";
import { type Adding, addFileNode, trying } from "../panels/gallery/actions";
import { makerOfPicture } from "../model/foreign";
import { refreshFiles } from "../state/files";
import type { Point } from "../state/camera";
import { newId, useDocuments } from "../state/documents";
import { openText } from "../state/workflows";
import { t } from "../texts";
import { showDialog } from "../ui/dialogs";
import { say } from "../ui/toasts";
import { Carriers, type Carrier } from "./Carriers";
import { HEAD_BYTES, type Sort, asPngName, sortOf } from "./decide";

/** `at`: where in the document their nodes go. */
export async function takeFiles(files: readonly File[], at: Point): Promise<void> {
  const adding: Adding = { document: useDocuments.getState().active, gesture: `drop ${newId()}` }; // all nodes of one drop are one step of undo
  const carriers: Carrier[] = [];
  for (const file of files) {
    await trying(async () => {
      const carrier = await takeFile(file, at, adding);
      if (carrier !== undefined) carriers.push(carrier);
    });
  }
  refreshFiles();
  if (carriers.length > 0) showDialog(<Carriers carriers={carriers} addAll={() => carriers.forEach((one) => addUpload(one.upload, at, adding))} />);
}

/** An output of the gallery that was dragged here. */
export function takeOutput(id: string, at: Point): Promise<boolean> {
  const { active } = useDocuments.getState();
  return trying(async () => addUpload(await outputAsFile(await readOutput(id)), at, { document: active }));
}

/** Says which file it was that cannot be opened. */
function openNamed(text: string, name: string): void {
  try {
    openText(text, name);
  } catch (error) {
    throw new Error(`${name}: ${sentence(error)}`);
  }
}

/** A workflow's text: opened in a tab of its own. Whether it was one. */
export function takeText(text: string, name: string): Promise<boolean> {
  return trying(() => void openText(text, name));
}

async function takeFile(file: File, at: Point, adding: Adding): Promise<Carrier | undefined> {
  const sort = sortOf(new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()));
  const name = file.name || t("gallery.pasted");
  if (sort === "document") {
    openNamed(await file.text(), name);
    return undefined;
  }
  if (sort === "picture" || sort === "foreign_picture") return takePicture(file, name, sort, at, adding);
  if (sort === "video" || sort === "curve") {
    addUpload(await uploadFile(file, name), at, adding);
    return undefined;
  }
  const key = ({ audio: "gallery.drop_audio", empty: "gallery.drop_empty", other: "gallery.drop_other" } as const)[sort];
  say(t(key, { name }), { kind: "warn" });
  return undefined;
}

async function takePicture(file: File, name: string, sort: Sort, at: Point, adding: Adding): Promise<Carrier | undefined> {
  const upload = sort === "picture" ? await uploadFile(file, name) : await uploadFile(await asPng(file), asPngName(name));
  const workflow = await carried(upload);
  if (workflow !== undefined) return { upload, workflow };
  const maker = await makerOfPicture(file);
  if (maker !== undefined) say(t("gallery.foreign_picture", { name, maker }), { kind: "warn" });
  addUpload(upload, at, adding);
  return undefined;
}

/** The workflow in a picture; undefined for none. One that cannot be read is told, and the picture is a picture. */
async function carried(upload: Upload): Promise<object | undefined> {
  try {
    return (await fileWorkflow(upload.sha256)).workflow;
  } catch (error) {
    if (isRefusal(error, "not_found")) return undefined;
    if (!isRefusal(error, "invalid_workflow")) throw error;
    say(t("gallery.carries_unreadable", { name: upload.name, why: sentence(error) }), { kind: "warn" });
    return undefined;
  }
}

export function addUpload(upload: Pick<Upload, "name" | "sha256" | "kind">, at: Point, adding: Adding = {}): void {
  addFileNode({ file: upload.name, sha256: upload.sha256 }, upload.kind, at, adding);
}

async function asPng(file: File): Promise<Blob> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(t("gallery.cannot_show", { name: file.name }));
  });
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  return canvas.convertToBlob({ type: "image/png" });
}
