import { expect, test } from "vitest";

import { makerOfPicture, makerOfText } from "./foreign";

test.each([
  ['{"last_node_id": 9, "nodes": [{"id": 1, "type": "KSampler"}], "links": [[1, 4, 0, 3, 0, "MODEL"]], "version": 0.4}', "ComfyUI"],
  ['{"3": {"class_type": "KSampler", "inputs": {}}, "4": {"class_type": "VAEDecode", "inputs": {}}}', "ComfyUI"],
  ['{"prompt": {"3": {"class_type": "KSampler", "inputs": {}}}}', "ComfyUI"],
  ['{"name": "", "meta": {"version": "3.0.0"}, "nodes": [], "edges": []}', "InvokeAI"],
  ['{"format": "latentgraph/workflow", "version": "1.0", "nodes": {}}', undefined],
  ['{"nodes": {"a": {"type": "decode"}}}', undefined],
  ["{}", undefined],
  ["[1, 2]", undefined],
  ["{nodes", undefined],
])("%s is a workflow of %s", (text, maker) => {
  expect(makerOfText(text)).toBe(maker);
});

/** A PNG as far as its chunks go. */
function png(...chunks: readonly (readonly [string, string])[]): Blob {
  const parts = chunks.flatMap(([type, content]) => {
    const size = new Uint8Array(4);
    new DataView(size.buffer).setUint32(0, content.length);
    return [size, type, content, "sum!"];
  });
  return new Blob(["\u0000PNG\r\n\u001a\n", ...parts]);
}

test.each([
  ["ComfyUI", png(["IHDR", "x".repeat(13)], ["tEXt", "prompt\0{}"], ["IDAT", ""])],
  ["Stable Diffusion web UI", png(["IHDR", "x".repeat(13)], ["pHYs", "123456789"], ["tEXt", "parameters\0a cat"])],
  ["InvokeAI", png(["IDAT", "x".repeat(500)], ["iTXt", "invokeai_metadata\0\0\0"], ["IEND", ""])],
  [undefined, png(["tEXt", "Software\0x"], ["IEND", ""])],
  [undefined, png(["IHDR", "cut"]).slice(0, 12)],
])("%s left its mark in a picture", async (maker, picture) => {
  expect(await makerOfPicture(picture)).toBe(maker);
});
