/**
 * A workflow of many nodes: chains of tokenize, encode, latents, denoise and decode in rows, about two links and five ports each.
 *
 * Its one named output is the first denoise, so that running it runs that chain alone, for long enough to be measured.
 */

const WIDTH = 280;
const HEIGHT = 300;

const CHAIN = [
  ["tokenize", (at, columns) => ({ tokenizer: loaded(at, "tokenizer", columns), prompt: `a picture of the number ${at}` })],
  ["encode_text", (at, columns) => ({ text_encoder: loaded(at, "text_encoder", columns), tokens: before(at, 1, "tokens") })],
  ["empty_latents", () => ({ width: 64, height: 64 })],
  ["denoise", (at, columns) => ({ denoiser: loaded(at, "denoiser", columns), scheduler: loaded(at, "scheduler", columns), positive: before(at, 2, "embedding"), latents: before(at, 1, "latents"), seed: at, steps: 200, guidance: 0 })],
  ["decode", (at, columns) => ({ vae: loaded(at, "vae", columns), latents: before(at, 1, "latents") })],
  ["pad_tokens", (at) => ({ embedding: before(at, 4, "embedding") })],
];

const loaded = (at, port, columns) => ({ link: `model_${Math.floor(at / columns)}.${port}` });
const before = (at, steps, port) => ({ link: `node_${at - steps}.${port}` });

/** The node that reports progress when it is run. */
export const RUNNING = "node_4";
/** Where it lies. */
export const RUNNING_AT = { x: 4.4 * WIDTH, y: 0.4 * HEIGHT };

export function bigDocument(count) {
  const columns = count > 1000 ? 50 : 25;
  const nodes = {};
  const view = {};
  for (let at = 0; at < count; at++) {
    const row = Math.floor(at / columns);
    const column = at % columns;
    const id = column === 0 ? `model_${row}` : `node_${at}`;
    const [type, inputs] = column === 0 ? ["load_pipeline", () => ({ model: "mini" })] : CHAIN[(column - 1) % CHAIN.length];
    nodes[id] = { type, inputs: inputs(at, columns) };
    view[id] = { x: column * WIDTH, y: row * HEIGHT };
  }
  return {
    $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0", name: `big_${count}`, nodes,
    outputs: { latents: { from: `${RUNNING}.latents` } }, view: { nodes: view },
  };
}
