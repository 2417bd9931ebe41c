import { describe, expect, it } from "vitest";

import type { Catalogue, InputPort, NodeType } from "./catalogue";
import { type Node, type WorkflowDocument, emptyDocument } from "./document";
import { maskLoader } from "./feed";
import { feedMask, keyOf, maskTargets, pictureFor } from "./masks";

type Ports = { readonly [name: string]: string };

function type(id: string, inputs: Ports, outputs: Ports): NodeType {
  const port = (name: string, of: string): InputPort => ({ name, type: of === "file" ? "text" : of, optional: false, doc: "", was: [], ...(of === "file" && { hint: { hint: "file", kinds: ["image"] } }) });
  return {
    id, title: id, version: 1, doc: "", category: "", light: false, effect: false, cache: true, place: "host", was: [], pack: null,
    inputs: Object.entries(inputs).map(([name, of]) => port(name, of)), outputs: Object.entries(outputs).map(([name, of]) => ({ name, type: of, doc: "" })),
  };
}

const TYPES = [
  type("load_image", { file: "file" }, { image: "Image" }), type("load_mask", { file: "file" }, { mask: "Mask" }),
  type("grow", { mask: "Mask" }, { mask: "Mask" }), type("make", { image: "Image" }, { mask: "Mask" }),
  type("encode", { image: "Image" }, { latents: "Latents" }), type("denoise", { latents: "Latents", mask: "Mask" }, { latents: "Latents" }),
  type("lay", { image: "Image", mask: "Mask" }, { image: "Image" }), type("save", { image: "Image" }, {}),
];
const CATALOGUE: Catalogue = { version: "1", types: new Map(TYPES.map((one) => [one.id, one])), plain: new Set(), fits: {} };
const sha256 = "a".repeat(64);
const picture = { file: "cat.png", sha256 };
const old = { file: "old.png", sha256: "b".repeat(64) };

function node(kind: string, inputs: { readonly [port: string]: string | object } = {}): Node {
  return { type: kind, inputs: Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, typeof value === "string" ? { link: value } : value])) } as Node;
}

function drawing(nodes: { readonly [id: string]: Node }): WorkflowDocument {
  return { ...emptyDocument(), nodes };
}

/** A picture that is inpainted; its mask comes from `mask`. */
function inpainting(mask: { readonly [id: string]: Node }, from?: string): WorkflowDocument {
  return drawing({
    picture: node("load_image", { file: picture }), ...mask, encode: node("encode", { image: "picture.image" }),
    sample: node("denoise", { latents: "encode.latents", ...(from !== undefined && { mask: from }) }),
  });
}

function targets(document: WorkflowDocument, selected?: string): string[] {
  return maskTargets(document, "", CATALOGUE, selected).map(keyOf);
}

const free = inpainting({});
const held = inpainting({ mask: node("load_mask", { file: old }) }, "mask.mask");

describe("a painted mask goes", () => {
  it("to the free Mask port of the node selected, and of the nodes that the selected picture goes to", () => {
    expect(targets(free, "sample")).toEqual(["port sample.mask", "node"]);
    expect(targets(free, "picture")).toEqual(["port sample.mask", "node"]);
  });

  it("to the only place there is, whatever is selected", () => {
    expect(targets(free)).toEqual(["port sample.mask", "node"]);
    expect(targets(held)).toEqual(["file mask", "node"]);
  });

  it("in place of the file that the mask comes from, also through other nodes", () => {
    for (const selected of ["mask", "sample", "picture"]) expect(targets(held, selected)[0]).toBe("file mask");
    const grown = inpainting({ mask: node("load_mask", { file: old }), grown: node("grow", { mask: "mask.mask" }) }, "grown.mask");
    expect(targets(grown, "sample")).toEqual(["file mask", "node"]);
  });

  it("in place of what another node makes only where that node is selected", () => {
    const made = inpainting({ made: node("make", { image: "picture.image" }) }, "made.mask");
    expect(targets(made, "sample")).toEqual(["port sample.mask", "node"]);
    expect(targets(made, "picture")).toEqual(["node"]);
  });

  it("to a node of its own first, if nothing says which of several it is for", () => {
    const two = drawing({ one: node("denoise"), other: node("lay") });
    expect(targets(two)).toEqual(["node", "port one.mask", "port other.mask"]);
    expect(targets(two, "other")).toEqual(["port other.mask", "port one.mask", "node"]);
  });

  it("to a node of its own first, if the selected picture goes to nothing that takes a mask", () => {
    const apart = drawing({ ...free.nodes, another: node("load_image", { file: picture }) });
    expect(targets(apart, "another")).toEqual(["node", "port sample.mask"]);
  });

  it("once to a mask that goes to several nodes, and to no file that comes from a link", () => {
    const both = drawing({ ...held.nodes, lay: node("lay", { image: "picture.image", mask: "mask.mask" }) });
    expect(targets(both, "picture")).toEqual(["file mask", "node"]);
    expect(targets(inpainting({ mask: node("load_mask", { file: "name.value" }) }, "mask.mask"), "picture")).toEqual(["node"]);
  });
});

describe("the edit", () => {
  const loader = maskLoader(CATALOGUE);
  if (loader === undefined) throw new Error("there is load_mask");
  const mask = { file: "mask.png", sha256 };

  it("sets the file that a node opens", () => {
    const fed = feedMask("", loader, mask, { kind: "file", node: "mask", port: "file" }, { x: 0, y: 0 })(held);
    expect(fed.nodes["mask"]?.inputs).toEqual({ file: mask });
    expect(Object.keys(fed.nodes)).toEqual(Object.keys(held.nodes));
  });

  it("adds a node and wires it", () => {
    const fed = feedMask("", loader, mask, { kind: "port", to: "sample.mask" }, { x: 7, y: 8 })(free);
    expect(fed.nodes["load_mask"]).toEqual({ type: "load_mask", inputs: { file: mask } });
    expect(fed.nodes["sample"]?.inputs["mask"]).toEqual({ link: "load_mask.mask" });
    expect(fed.view?.nodes?.["load_mask"]).toEqual({ x: 7, y: 8 });
  });

  it("adds a node by itself", () => {
    const fed = feedMask("", loader, mask, { kind: "node" }, { x: 0, y: 0 })(free);
    expect(fed.nodes["sample"]).toBe(free.nodes["sample"]);
    expect(fed.nodes["load_mask"]).toBeDefined();
  });
});

describe("a mask is painted on", () => {
  it("the picture of the node selected, or the one that comes to where the mask goes", () => {
    for (const selected of ["picture", "mask", "sample"]) expect(pictureFor(held, "", CATALOGUE, selected)).toEqual(picture);
  });

  it("the mask itself, if it goes nowhere", () => {
    expect(pictureFor(drawing({ mask: node("load_mask", { file: old }) }), "", CATALOGUE, "mask")).toEqual(old);
  });

  it("nothing, where no picture is", () => {
    expect(pictureFor(held, "", CATALOGUE, "encode")).toBeUndefined();
    expect(pictureFor(drawing({ mask: node("load_mask") }), "", CATALOGUE, "mask")).toBeUndefined();
  });
});
