import { describe, expect, it } from "vitest";

import type { InputPort, NodeType } from "./catalogue";
import { FILE_ROW, HEADER, ROW, WIDTH, measure, pictureOf, roomBelow, rowsOf } from "./measure";

const input = (name: string, type: string, more: Partial<InputPort> = {}): InputPort => ({
  name, type, optional: false, doc: "", was: [], ...more,
});
const node = { type: "decode", inputs: {} };
const ports = {
  inputs: [input("vae", "Vae"), input("tile", "int"), input("latents", "Latents")],
  outputs: [{ name: "image", type: "Image", doc: "" }],
};

describe("measure", () => {
  it("puts sockets and outputs side by side above the values", () => {
    expect(rowsOf(ports).map((row) => [row.input?.name, row.output?.name, row.value])).toEqual([
      ["vae", "image", false], ["latents", undefined, false], ["tile", undefined, true],
    ]);
  });

  it("places ports in the middle of their lines", () => {
    expect(measure(ports, node, undefined).ports).toEqual([
      { name: "vae", side: "input", y: HEADER + ROW / 2 },
      { name: "image", side: "output", y: HEADER + ROW / 2 },
      { name: "latents", side: "input", y: HEADER + ROW * 1.5 },
      { name: "tile", side: "input", y: HEADER + ROW * 2.5 },
    ]);
  });

  it("puts all ports of a collapsed node beside its title", () => {
    const collapsed = measure(ports, node, { collapsed: true });
    expect(collapsed.height).toBe(HEADER);
    expect(new Set(collapsed.ports.map((port) => port.y))).toEqual(new Set([HEADER / 2]));
  });

  it("takes the width from the view, but keeps it readable", () => {
    expect(measure(ports, node, { width: 400 }).width).toBe(400);
    expect(measure(ports, node, { width: 10 }).width).toBeLessThan(WIDTH);
    expect(measure(ports, node, { width: 10 }).width).toBeGreaterThan(100);
  });

  it("leaves room for a picture where one is chosen", () => {
    const file = { inputs: [input("file", "text", { hint: { hint: "file", kinds: ["image"] } })], outputs: [] };
    expect(measure(file, node, undefined).height).toBeGreaterThan(HEADER + FILE_ROW);
  });
});

describe("the picture below a node", () => {
  const image = { name: "image", type: "Image", doc: "" };
  const file = { name: "file", type: "text", doc: "" };
  const type = (effect: boolean) => ({ effect } as NodeType);

  it("is that of its first picture, or the file that it saved", () => {
    expect(pictureOf({ inputs: [], outputs: [file, image] }, type(false))).toEqual({ port: "image", isSaved: false });
    expect(pictureOf({ inputs: [input("image", "Image")], outputs: [file] }, type(true))).toEqual({ port: "file", isSaved: true });
    expect(pictureOf({ inputs: [input("mask", "Mask")], outputs: [{ name: "mask", type: "Mask", doc: "" }] }, type(false))).toEqual({ port: "mask", isSaved: false });
    expect(pictureOf({ inputs: [], outputs: [file] }, type(false))).toBeNull();
  });

  it("is left out where the node shows the chosen one already", () => {
    expect(pictureOf({ inputs: [input("file", "text", { hint: { hint: "file", kinds: ["image"] } })], outputs: [image] }, type(false))).toBeNull();
  });

  it("has room below it in automatic places, and none below a folded node", () => {
    expect(roomBelow({ inputs: [], outputs: [image] }, type(false), undefined)).toBeGreaterThan(100);
    expect(roomBelow({ inputs: [], outputs: [image] }, type(false), { collapsed: true })).toBe(0);
  });
});
