/** Writes a greyscale PNG of 8 bits: canvases only write colours. */

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** `levels`: a byte per pixel, row by row. */
export async function greyPng(width: number, height: number, levels: Uint8Array): Promise<Blob> {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8); // bits; the colour type, 0, is grey
  const rows = new Uint8Array((width + 1) * height); // each begins with its filter: 0, none
  for (let row = 0; row < height; row++) rows.set(levels.subarray(row * width, (row + 1) * width), row * (width + 1) + 1);
  const parts = [new Uint8Array(SIGNATURE), chunk("IHDR", new Uint8Array(header.buffer)), chunk("IDAT", await deflated(rows)), chunk("IEND", new Uint8Array())];
  return new Blob(parts, { type: "image/png" });
}

function chunk(kind: string, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(content.length + 12);
  const view = new DataView(whole.buffer);
  view.setUint32(0, content.length);
  whole.set(new TextEncoder().encode(kind), 4);
  whole.set(content, 8);
  view.setUint32(content.length + 8, crc(whole.subarray(4, content.length + 8)));
  return whole;
}

async function deflated(content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const packed = new Response(new Response(content).body?.pipeThrough(new CompressionStream("deflate")));
  return new Uint8Array(await packed.arrayBuffer());
}

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc(content: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of content) value = (TABLE[(value ^ byte) & 255] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
