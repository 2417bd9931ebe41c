/** Films made by the browser itself: VP8 in WebM, with an index, so that one can go to any place without what lies before. */

import type { Page } from "playwright-core";

const SIDE = 64;
/** Milliseconds of a frame; the WebM's unit is one millisecond. */
const FRAME_MS = 250;

/** So much is between two frames, which says nothing: a film as large as a long one. */
const GAP_BYTES = 64 << 10;

/** A film that goes from black to white. */
export async function filmOf(page: Page, frames: number): Promise<Buffer> {
  const encoded = await page.evaluate(async ({ side, count, frameMs }) => {
    const found: number[][] = [];
    const take = (chunk: EncodedVideoChunk): void => {
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      found.push([...bytes]);
    };
    const encoder = new VideoEncoder({ output: take, error: (error) => { throw error; } });
    encoder.configure({ codec: "vp8", width: side, height: side, framerate: 1000 / frameMs });
    for (let frame = 0; frame < count; frame++) {
      const pixels = new Uint8Array(side * side * 4).fill(Math.round((255 * frame) / (count - 1)));
      const picture = new VideoFrame(pixels, { format: "RGBX", codedWidth: side, codedHeight: side, timestamp: frame * frameMs * 1000 });
      encoder.encode(picture, { keyFrame: true });
      picture.close();
    }
    await encoder.flush();
    return found;
  }, { side: SIDE, count: frames, frameMs: FRAME_MS });
  return webm(encoded.map((one) => Buffer.from(one)));
}

type Part = Buffer | number | string;

/** An element of EBML: its id, eight bytes of size, its content. Numbers take eight bytes, so that sizes are known before places are. */
function element(id: number, ...parts: readonly Part[]): Buffer {
  const name = Buffer.from(id.toString(16), "hex");
  const content = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : typeof part === "number" ? eightBytes(part) : part)));
  const size = eightBytes(content.length);
  size[0] = 0x01;
  return Buffer.concat([name, size, content]);
}

function eightBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

/** Each frame a cluster of its own, the index before all of them. */
function webm(frames: readonly Buffer[]): Buffer {
  const clusters = frames.map((frame, at) => element(0x1f43b675, element(0xe7, at * FRAME_MS), element(0xa3, Buffer.from([0x81, 0, 0, 0x80]), frame), element(0xec, Buffer.alloc(GAP_BYTES))));
  const head = Buffer.concat([
    element(0x1549a966, element(0x2ad7b1, 1_000_000), element(0x4489, float(frames.length * FRAME_MS)), element(0x4d80, "flows"), element(0x5741, "flows")),
    element(0x1654ae6b, element(0xae, element(0xd7, 1), element(0x73c5, 1), element(0x83, 1), element(0x86, "V_VP8"), element(0xe0, element(0xb0, SIDE), element(0xba, SIDE)))),
  ]);
  const index = (places: readonly number[]): Buffer =>
    element(0x1c53bb6b, ...places.map((place, at) => element(0xbb, element(0xb3, at * FRAME_MS), element(0xb7, element(0xf7, 1), element(0xf1, place)))));
  let place = head.length + index(clusters.map(() => 0)).length;
  const places = clusters.map((cluster) => {
    place += cluster.length;
    return place - cluster.length;
  });
  const versions = [[0x4286, 1], [0x42f7, 1], [0x42f2, 4], [0x42f3, 8]] as const;
  const begin = element(0x1a45dfa3, ...versions.map(([id, value]) => element(id, value)), element(0x4282, "webm"), element(0x4287, 4), element(0x4285, 2));
  return Buffer.concat([begin, element(0x18538067, head, index(places), ...clusters)]);
}
