import { describe, expect, it } from "vitest";

import { type Verdict, fitting, judge, outputTypeOf } from "./connect";
import type { WorkflowDocument } from "./document";
import { nearest } from "./nearest";
import { nodes, smallCatalogue, workflow } from "./testing";

const catalogue = smallCatalogue();
const document = workflow(
  {
    load: ["load"], blur: ["blur", { image: "load.image" }], encode: ["encode", { image: "blur.image" }], text: ["text"], count: ["integer"],
    counts: ["integers"], many: ["blur", { image: "listed.values" }], listed: ["listed", { first: "load.image" }], either: ["either", { on_false: 5 }],
    gone: ["pack/gone"], grid: ["grid"], split: ["split"], save: ["save"], up: ["#up"],
  },
  { subgraphs: { up: { nodes: nodes({ pass: ["either"], blur: ["blur", { image: "pass.value" }] }), inputs: { any: { to: "pass.on_true" } }, outputs: { value: { from: "pass.value" }, soft: { from: "blur.image" } } } } },
);

function verdict(from: string, to: string): Verdict {
  return judge(document, "", catalogue, from, to);
}

function reason(from: string, to: string): string {
  const found = verdict(from, to);
  return found.ok ? `fits: ${found.fit}` : found.reason;
}

describe("judging a link", () => {
  it.each([
    ["load.image", "save.image", "fits: direct"],
    ["count.value", "blur.radius", "fits: direct"],
    ["many.image", "save.image", "fits: map"],
    ["many.image", "grid.images", "fits: direct"],
    ["gone.anything", "save.image", "fits: direct"],
    ["load.image", "gone.anything", "fits: direct"],
    ["load.image", "grid.images", "grid.images is linked to load.image of type Image; it takes list[Image]. Link a list of it."],
    ["encode.latents", "save.image", "save.image is linked to encode.latents of type Latents; it takes Image. Link an output of type Image."],
    ["text.value", "load.file", "load.file is linked; it takes a file (image). Choose the file there."],
    ["load.image", "either.on_true", "either got Image at on_true and int at on_false; these inputs take values of one type. Give all of them the same type."],
    ["count.value", "either.on_true", "fits: direct"],
    ["many.image", "split.image", "split.parts would give a list of lists: it runs once per element and gives list[Image] each time. Join or pick first."],
    ["encode.latents", "blur.image", "These nodes wait for each other: blur -> encode -> blur. Remove one of the links."],
    ["blur.image", "blur.image", "These nodes wait for each other: blur -> blur. Remove one of the links."],
    ["lod.image", "save.image", 'save.image is linked to "lod.image", and no node is called "lod". Did you mean "load"?'],
    ["load.imag", "save.image", 'save.image is linked to "load.imag", and load (load) has no output "imag". Did you mean "image"?'],
    ["load.image", "save.imag", 'save (save) has no input "imag". Did you mean "image"?'],
    ["load.image", "up.none", 'up (#up) has no input "none". Known: any.'],
    ["up.none", "save.image", 'save.image is linked to "up.none", and up has no output "none". Known: soft, value.'],
    ["load.image", "zzz.image", '"zzz.image" is no input, because no node is called "zzz". Known: blur, count, counts, either, encode, gone, grid, listed, load, many, save, split, text, up.'],
  ])("%s to %s: %s", (from, to, said) => expect(reason(from, to)).toBe(said));

  it("follows types into subgraphs and out again", () => {
    const inside = workflow({ text: ["text"], up: ["#up", { any: "text.value" }], save: ["save"] }, { subgraphs: document.subgraphs ?? {} });
    expect(outputTypeOf(inside, "", catalogue, "up.value")).toBe("text");
    const found = judge(inside, "", catalogue, "up.value", "save.image");
    expect(found.ok ? "" : found.reason).toBe("save.image is linked to up/pass.value of type text; it takes Image. Link an output of type Image.");
  });

  it("judges inside a subgraph, where what comes from outside is not known", () => {
    expect(judge(document, "up", catalogue, "pass.value", "blur.image")).toEqual({ ok: true, fit: "direct" });
    expect(judge(document, "up", catalogue, "blur.image", "pass.on_true").ok).toBe(false);
    expect(judge(document, "none", catalogue, "blur.image", "pass.on_true").ok).toBe(false);
  });

  it("takes a link in place of the one that is there", () => {
    expect(verdict("split.parts", "listed.first").ok).toBe(false);
    expect(verdict("text.value", "listed.first")).toEqual({ ok: true, fit: "direct" });
  });

  it("offers what would make it fit: one required input that takes it, an output that goes there", () => {
    const offered = (from: string, to: string): readonly string[] => {
      const found = verdict(from, to);
      return found.ok ? [] : found.converters;
    };
    expect(offered("encode.latents", "save.image")).toEqual(["decode"]);
    expect(offered("load.image", "grid.images")).toEqual(["listed", "split"]);
    expect(offered("text.value", "save.image")).toEqual([]);
    expect(offered("encode.latents", "blur.image")).toEqual([]);
  });

  it("says the same again without new work", () => {
    expect(judge(document, "", catalogue, "load.image", "save.image")).toBe(judge(document, "", catalogue, "load.image", "save.image"));
  });
});

describe("large documents", () => {
  function chain(length: number): WorkflowDocument {
    const many: { [id: string]: [string, { [port: string]: string }] } = { n0: ["load", {}] };
    for (let count = 1; count < length; count += 1) many[`n${count}`] = ["blur", { image: `n${count - 1}.image` }];
    return workflow(many);
  }

  it("have all their ports judged within 100 ms while a link is drawn, of 500 nodes", () => {
    const times = [1, 2, 3].map(() => {
      const large = chain(500);
      const begin = performance.now();
      for (const id of Object.keys(large.nodes)) for (const port of ["image", "radius"]) judge(large, "", catalogue, "n250.image", `${id}.${port}`);
      return performance.now() - begin;
    });
    expect(Math.min(...times)).toBeLessThan(100);
  });

  it("may be chains of 20,000 nodes", () => {
    const large = chain(20_000);
    expect(outputTypeOf(large, "", catalogue, "n19999.image")).toBe("Image");
    expect(judge(large, "", catalogue, "n19999.image", "n0.file").ok).toBe(false);
    const found = judge(large, "", catalogue, "n19999.image", "n1.image");
    expect(found.ok ? "" : found.reason).toContain("n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> n8 -> ... (19990 more) -> n19999 -> n1.");
  });
});

describe("types that come out", () => {
  it.each([["load.image", "Image"], ["many.image", "list[Image]"], ["listed.values", "list[Image]"], ["either.value", "int"], ["gone.x", null], ["none.x", null], ["up.value", "T"]])(
    "%s gives %s", (reference, type) => expect(outputTypeOf(document, "", catalogue, reference)).toBe(type));

  it("ends on circles, and on subgraphs that hold themselves", () => {
    const round = workflow({ a: ["either", { on_true: "b.value" }], b: ["either", { on_true: "a.value" }], s: ["#s"] }, {
      subgraphs: { s: { nodes: nodes({ s: ["#s"] }), inputs: { i: { to: "s.i" } }, outputs: { o: { from: "s.o" } } } },
    });
    expect(outputTypeOf(round, "", catalogue, "a.value")).toBe("T");
    expect(judge(round, "", catalogue, "s.o", "a.on_false")).toEqual({ ok: true, fit: "direct" });
    expect(judge(round, "", catalogue, "a.value", "s.i").ok).toBe(true);
  });
});

describe("what could be added at a port", () => {
  const names = (side: "input" | "output", node: string, port: string, scope = ""): string[] =>
    fitting(document, scope, catalogue, { node, port, side }).map((one) => `${one.type.id}.${one.port}`);

  it("is the closest first: the same type, then by running per element, then anything; of equals what asks least", () => {
    expect(names("output", "load", "image")).toEqual(["blur.image", "encode.image", "save.image", "split.image", "listed.first", "#up.any", "either.on_true"]);
    expect(names("output", "many", "image")).toEqual(["grid.images", "blur.image", "encode.image", "save.image", "#up.any", "either.on_true"]);
  });

  it("is what gives the type that an input takes", () => {
    expect(names("input", "grid", "images")).toEqual(["split.parts", "listed.values"]);
    expect(names("input", "encode", "image").slice(0, 4)).toEqual(["blur.image", "decode.image", "grid.image", "load.image"]);
    expect(names("input", "encode", "image")).toContain("#up.soft");
  });

  it("is nothing at a file, and no subgraph that holds the scope", () => {
    expect(names("input", "load", "file")).toEqual([]);
    expect(names("output", "blur", "image", "up").filter((name) => name.startsWith("#"))).toEqual([]);
    expect(names("output", "none", "image")).toEqual([]);
  });
});

describe("the nearest name", () => {
  // What Python's difflib.get_close_matches says.
  it.each([
    ["imag", ["image", "images"], ' Did you mean "image"?'],
    ["x", ["b", "a"], " Known: a, b."],
    ["x", [], ""],
    ["a", Array.from({ length: 21 }, (_, at) => `long_${String.fromCharCode(98 + at)}`), ` Known: ${Array.from({ length: 20 }, (_, at) => `long_${String.fromCharCode(98 + at)}`).join(", ")}, ....`],
    ["abcd", ["abce", "abcf"], ' Did you mean "abcf"?'],
  ])("of %s among %j", (name, known, clause) => expect(nearest(name, known)).toBe(clause));
});
