/** What is to become of files that somebody dropped, pasted or chose: decided from their first bytes, not from their names. */

export type Sort =
  /** Text that begins like JSON: a workflow, if it is one. */
  | "document"
  | "curve"
  /** A picture that nodes open. */
  | "picture"
  /** A picture that this browser can show and nodes cannot open: made a PNG first. */
  | "foreign_picture"
  | "video"
  | "audio"
  | "other"
  | "empty";

/** So many bytes of the beginning are enough. */
export const HEAD_BYTES = 512;

const PICTURES: readonly (readonly [Sort, RegExp])[] = [
  ["picture", /^\x89PNG\r\n\x1a\n/],
  ["picture", /^\xff\xd8\xff/],
  ["picture", /^RIFF[^]{4}WEBP/],
  ["picture", /^BM[^]{4}\0\0\0\0/],
  ["foreign_picture", /^GIF8[79]a/],
  ["foreign_picture", /^[^]{4}ftypavi[fs]/],
  ["video", /^[^]{4}ftyp(?:iso|mp4|avc1|M4V |qt {2})/],
  ["video", /^\x1a\x45\xdf\xa3/],
  ["audio", /^RIFF[^]{4}WAVE/],
  ["audio", /^(?:ID3|fLaC|OggS|\xff[\xfb\xf3\xf2])/],
  ["curve", /^(?:\xef\xbb\xbf)?\s*\{\s*"format":\s*"latentgraph\/curve-1"/],
  ["document", /^(?:\xef\xbb\xbf)?\s*\{/],
];

/** What a file is that begins with these bytes. */
export function sortOf(head: Uint8Array): Sort {
  if (head.length === 0) return "empty";
  const text = String.fromCharCode(...head.subarray(0, HEAD_BYTES));
  return PICTURES.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
}

/** Names end in ".png" once the picture is one. */
export function asPngName(name: string): string {
  return `${name.replace(/\.[a-z0-9]{1,5}$/i, "")}.png`;
}

/** What the page itself drags: an output of the gallery, an uploaded file. */
export const OUTPUT_TYPE = "application/x-latentgraph-output";
export const FILE_TYPE = "application/x-latentgraph-file";

/** Whether something that is dragged may be dropped on the page: files, ours, or text outside of fields. */
export function isWanted(types: readonly string[], isOverField: boolean): boolean {
  if (types.includes("Files") || types.includes(OUTPUT_TYPE) || types.includes(FILE_TYPE)) return true;
  return types.includes("text/plain") && !types.some((type) => type.startsWith("application/x-")) && !isOverField;
}
