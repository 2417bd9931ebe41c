import { describe, expect, it } from "vitest";

import { documentOf, readDocument } from "./read";

const HEAD = '"format": "latentgraph/workflow", "version": "1.0"';

function messages(text: string): string[] {
  const found = readDocument(text);
  return "flaws" in found ? found.flaws.map((flaw) => flaw.message) : [];
}

describe("reading a document", () => {
  it("names the node and the port that a flaw of the text lies in", () => {
    const found = readDocument(`{${HEAD}, "nodes": {"a": {"type": "t", "inputs": {"seed": NaN}}}}`);
    expect(found).toMatchObject({ flaws: [{ code: "not_finite", node: "a", port: "seed", line: 1 }] });
  });

  it("tells everything that is wrong with its form at once", () => {
    expect(messages(`{${HEAD}, "nodes": {"A": {}, "b": {"type": "t", "state": "off", "inptus": 1}}, "name": 1}`)).toEqual([
      "name is a number. Write a text.",
      '"A" in nodes is no node id (a small letter first, then small letters, digits and _, 64 at most). Rename it.',
      'nodes.b.state is "off". Write "muted" or "bypassed", or leave it out.',
      'nodes.b has the unknown field "inptus". Did you mean "inputs"? Fields of your own start with x-.',
    ]);
  });

  it.each([
    ["{}", 'This is no workflow: it has no `format`. Set `format` to "latentgraph/workflow".'],
    ['{"3": {"class_type": "KSampler"}}', "This is a workflow of ComfyUI, whose format is not read here. Build it anew from Latentgraph's nodes."],
    ['{"format": "latentgraph/workflow", "version": "2.1"}', "The workflow has version 2.1; this program reads up to 1.x. Update Latentgraph to open it."],
    ["7", "The document is a number; a workflow is a JSON object. Start it with {."],
  ])("refuses %s", (text, message) => expect(messages(text)).toEqual([message]));

  it("opens a document with node types and values nobody knows", () => {
    const found = readDocument(`{${HEAD}, "nodes": {"constructor": {"type": "pack/Gone"}}, "x-mine": {"a": 1}, "view": {"nodes": 5}}`);
    expect(found).toMatchObject({ document: { nodes: { constructor: { type: "pack/Gone", inputs: {} } }, "x-mine": { a: 1 }, view: { nodes: 5 } } });
  });

  it("keeps what a newer minor version says", () => {
    const found = readDocument('{"format": "latentgraph/workflow", "version": "1.4", "nodes": {}, "mood": "calm"}');
    expect(found).toMatchObject({ document: { version: "1.4", mood: "calm" } });
  });

  it("takes a value that was read before", () => {
    expect(documentOf({ format: "latentgraph/workflow", version: "1.0", nodes: {} })).toMatchObject({ document: { nodes: {} } });
  });

  it("reads and writes 2,000 nodes in less than 300 ms", () => {
    const node = (at: number): string => `"n${at}": {"type": "blur", "inputs": {"image": {"link": "n${at + 1}.image"}, "radius": ${at}.5}}`;
    const text = `{${HEAD}, "nodes": {${Array.from({ length: 2_000 }, (_, at) => node(at)).join(",")}}}`;
    const begin = performance.now();
    readDocument(text);
    expect(performance.now() - begin).toBeLessThan(300);
  });
});
