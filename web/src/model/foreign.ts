/** Whose file it is: workflows and pictures of other tools, which cannot be opened here and are told by name. */

/** The tool whose workflow a text is; undefined: none that is known. */
export function makerOfText(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || "format" in value) return undefined;
  const nodes = value["nodes"];
  if (Array.isArray(nodes)) return Array.isArray(value["edges"]) ? "InvokeAI" : Array.isArray(value["links"]) ? "ComfyUI" : undefined;
  const all = Object.values(isObject(value["prompt"]) ? value["prompt"] : value);
  return all.length > 0 && all.every((node) => isObject(node) && "class_type" in node) ? "ComfyUI" : undefined;
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** By the keyword of a PNG's text: "invokeai_metadata", also those that begin so. */
const KEYWORDS: readonly (readonly [RegExp, string])[] = [
  [/^(?:workflow|prompt)$/, "ComfyUI"],
  [/^(?:invokeai_|sd-metadata|dream)/i, "InvokeAI"],
  [/^parameters$/, "Stable Diffusion web UI"],
];
const MOST_CHUNKS = 64;
const HEADER_BYTES = 8;
const KEYWORD_BYTES = 80;

/** The tool that left a workflow or parameters in a PNG; undefined: none that is known. Only the chunks' beginnings are read. */
export async function makerOfPicture(file: Blob): Promise<string | undefined> {
  let at = HEADER_BYTES; // of the signature
  for (let chunk = 0; chunk < MOST_CHUNKS; chunk += 1) {
    const bytes = new Uint8Array(await file.slice(at, at + HEADER_BYTES + KEYWORD_BYTES).arrayBuffer());
    if (bytes.length < HEADER_BYTES) return undefined;
    const type = String.fromCharCode(...bytes.subarray(4, HEADER_BYTES));
    if (type === "IEND") return undefined;
    const keyword = /^(?:tEXt|iTXt|zTXt)$/.test(type) ? String.fromCharCode(...bytes.subarray(HEADER_BYTES)).split("\0", 1)[0] ?? "" : "";
    const maker = KEYWORDS.find(([pattern]) => pattern.test(keyword))?.[1];
    if (maker !== undefined) return maker;
    at += new DataView(bytes.buffer).getUint32(0) + HEADER_BYTES + 4; // and the sum at its end
  }
  return undefined;
}
