// @vitest-environment node
import { crc32, inflateSync } from "node:zlib";

import { expect, test } from "vitest";

import { greyPng } from "./png";

test("a mask is a grey PNG of its size whose rows are its levels", async () => {
  const bytes = Buffer.from(await (await greyPng(3, 2, Uint8Array.of(0, 128, 255, 1, 2, 3))).arrayBuffer());
  expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const chunks: { [kind: string]: Buffer } = {};
  for (let at = 8; at < bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    chunks[bytes.toString("latin1", at + 4, at + 8)] = bytes.subarray(at + 8, at + 8 + size);
    expect(bytes.readUInt32BE(at + 8 + size)).toBe(crc32(bytes.subarray(at + 4, at + 8 + size)));
    at += size + 12;
  }
  expect([...(chunks["IHDR"] ?? [])]).toEqual([0, 0, 0, 3, 0, 0, 0, 2, 8, 0, 0, 0, 0]);
  expect([...inflateSync(chunks["IDAT"] ?? Buffer.of())]).toEqual([0, 0, 128, 255, 0, 1, 2, 3]);
});
