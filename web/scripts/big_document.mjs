/**
 * A workflow of many nodes, for measuring the canvas: `node scripts/big_document.mjs 500 > big.json`.
 *
 * Chains of tokenize, encode, denoise and decode in rows of 25 columns, with about two links and five ports per node.
 */

const CHAIN = [
  ["tokenize", (at) => ({ tokenizer: link(at, 0, "tokenizer"), prompt: `a picture of the number ${at}` })],
  ["encode_text", (at) => ({ text_encoder: link(at, 0, "text_encoder"), tokens: link(at, -1, "tokens") })],
  ["empty_latents", () => ({ width: 512, height: 768 })],
  ["denoise", (at) => ({ denoiser: link(at, 0, "denoiser"), scheduler: link(at, 0, "scheduler"), positive: link(at, -2, "embedding"), latents: link(at, -1, "latents"), seed: at })],
  ["decode", (at) => ({ vae: link(at, 0, "vae"), latents: link(at, -1, "latents") })],
  ["save_image", (at) => ({ image: link(at, -1, "image"), name: `picture_${at}` })],
];
const COLUMNS = 25;

/** From the loader of the same row (`before` 0), or from so many nodes before. */
function link(at, before, port) {
  return { link: `${before === 0 ? `model_${Math.floor(at / COLUMNS)}` : `node_${at + before}`}.${port}` };
}

export function bigDocument(count) {
  const nodes = {};
  const view = {};
  for (let at = 0; at < count; at++) {
    const row = Math.floor(at / COLUMNS);
    const column = at % COLUMNS;
    const id = column === 0 ? `model_${row}` : `node_${at}`;
    const [type, inputs] = column === 0 ? ["load_pipeline", () => ({ model: "mini" })] : CHAIN[(column - 1) % CHAIN.length];
    nodes[id] = { type, inputs: inputs(at) };
    view[id] = { x: column * 304, y: row * 344 };
  }
  return {
    $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0", name: `big_${count}`, nodes, view: { nodes: view },
  };
}

if (process.argv[1]?.endsWith("big_document.mjs")) process.stdout.write(`${JSON.stringify(bigDocument(Number(process.argv[2] ?? 500)), null, 2)}\n`);
