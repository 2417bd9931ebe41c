/** Outputs and uploaded files beyond single requests (`client.ts`): bytes brought here, and from outputs to files. */

import { type FileView, type OutputSummary, type OutputView, Problem, outputUrl, uploadFile } from "./client";
import { fetched } from "./http";

export type Output = OutputSummary;
export type OutputDetails = OutputView;
export type Upload = FileView;

export interface OutputFilter {
  readonly kind?: string;
  readonly workflow?: string;
  readonly text?: string;
  readonly starred?: boolean;
}

/** The bytes at an address of this server. Throws `Problem`. */
export async function fetchBlob(url: string): Promise<Blob> {
  return (await fetched(url)).blob();
}

/** Outputs are no uploads: the bytes are brought among the files, where workflows can name them. */
export async function outputAsFile(output: Pick<Output, "id" | "file">): Promise<Upload> {
  return uploadFile(await fetchBlob(outputUrl(output.id)), output.file);
}

export function isRefusal(error: unknown, code: string): boolean {
  return error instanceof Problem && error.code === code;
}
