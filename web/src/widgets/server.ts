/** What widgets ask of the server. */
// stub: replaced by api/client.ts of w-docs

import type { FileValue } from "../model/document";

/** Send a file; what a workflow names it by. Raises an Error with the server's sentence. */
export async function uploadFile(file: File): Promise<FileValue> {
  const answer = await fetch("/v1/files", {
    method: "POST", body: file, headers: { "Content-Type": "application/octet-stream", "X-File-Name": encodeURIComponent(file.name) },
  });
  const view = await read<{ name: string; sha256: string }>(answer);
  return { file: view.name, sha256: view.sha256 };
}

export async function modelNames(): Promise<readonly string[]> {
  const list = await read<{ models: readonly { name: string }[] }>(await fetch("/v1/models"));
  return list.models.map((model) => model.name);
}

export function thumbnailOf(sha256: string): string {
  return `/v1/files/${sha256}/thumbnail?size=256`;
}

async function read<T>(answer: Response): Promise<T> {
  const body: unknown = await answer.json();
  if (!answer.ok) throw new Error((body as { detail?: string }).detail ?? answer.statusText);
  return body as T; // the shape is the server's contract
}
