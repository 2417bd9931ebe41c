/**
 * A workflow of many nodes: chains of tokenize, encode, latents, denoise and decode in rows, about two links and five ports each.
 *
 * Its one named output is the first denoise, so that running it runs that chain alone, for long enough to be measured.
 */

const COLUMNS = 25;
const WIDTH = 280;
const HEIGHT = 300;

const CHAIN = [
  ["tokenize", (at) => ({ tokenizer: loaded(at, "tokenizer"), prompt: `a picture of the number ${at}` })],
  ["encode_text", (at) => ({ text_encoder: loaded(at, "text_encoder"), tokens: before(at, 1, "tokens") })],
  ["empty_latents", () => ({ width: 64, height: 64 })],
  ["denoise", (at) => ({ denoiser: loaded(at, "denoiser"), scheduler: loaded(at, "scheduler"), positive: before(at, 2, "embedding"), latents: before(at, 1, "latents"), seed: at, steps: 200, guidance: 0 })],
  ["decode", (at) => ({ vae: loaded(at, "vae"), latents: before(at, 1, "latents") })],
  ["pad_tokens", (at) => ({ embedding: before(at, 4, "embedding") })],
];

const loaded = (at, port) => ({ link: `model_${Math.floor(at / COLUMNS)}.${port}` });
const before = (at, steps, port) => ({ link: `node_${at - steps}.${port}` });

/** The node that reports progress when it is run. */
export const RUNNING = "node_4";

export function bigDocument(count) {
  const nodes = {};
  const view = {};
  for (let at = 0; at < count; at++) {
    const row = Math.floor(at / COLUMNS);
    const column = at % COLUMNS;
    const id = column === 0 ? `model_${row}` : `node_${at}`;
    const [type, inputs] = column === 0 ? ["load_pipeline", () => ({ model: "mini" })] : CHAIN[(column - 1) % CHAIN.length];
    nodes[id] = { type, inputs: inputs(at) };
    view[id] = { x: column * WIDTH, y: row * HEIGHT };
  }
  return {
    $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0", name: `big_${count}`, nodes,
    outputs: { latents: { from: `${RUNNING}.latents` } }, view: { nodes: view },
  };
}
