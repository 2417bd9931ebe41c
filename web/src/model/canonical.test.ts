import { describe, expect, it } from "vitest";

import vectors from "../../../tests/graph/json_vectors.json";
import { canonical, writeDocument } from "./canonical";
import { type WorkflowDocument, emptyDocument } from "./document";
import { readDocument } from "./read";

const FILES = {
  ...import.meta.glob<string>("../../../workflows/mini*.json", { query: "?raw", import: "default", eager: true }),
  ...import.meta.glob<string>("../../../tests/graph/documents/1.*/*.json", { query: "?raw", import: "default", eager: true }),
};

function read(text: string): WorkflowDocument {
  const found = readDocument(text);
  if ("flaws" in found) throw new Error(found.flaws.map((flaw) => flaw.message).join("\n"));
  return found.document;
}

describe("writeDocument", () => {
  it.each(vectors.documents as [string, string][])("writes a document as the server does (%#)", (source, text) => {
    expect(writeDocument(read(source))).toBe(text);
    expect(writeDocument(read(text))).toBe(text);
  });

  it("finds files to try", () => {
    expect(Object.keys(FILES).length).toBeGreaterThan(8);
  });

  it.each(Object.entries(FILES))("gives the bytes of %s again", (name, text) => {
    const once = writeDocument(read(text));
    if (name.includes("/workflows/")) expect(once).toBe(text);
    expect(writeDocument(read(once))).toBe(once);
  });

  it("puts members in order and leaves out what says nothing", () => {
    const document = {
      nodes: { a: { inputs: {}, state: undefined, "x-mine": 1, type: "t" } }, name: "", inputs: {}, subgraphs: {}, view: {},
      version: "1.0", format: "latentgraph/workflow", $schema: "",
    } as unknown as WorkflowDocument;
    expect(Object.keys(JSON.parse(writeDocument(document)) as object)).toEqual(["$schema", "format", "version", "nodes", "view"]);
    expect(writeDocument(document)).toContain('"a": {\n      "type": "t",\n      "inputs": {},\n      "x-mine": 1\n    }');
  });

  it("keeps ports that look like positions in the author's order", () => {
    const text = writeDocument({ ...emptyDocument(), nodes: { a: { type: "t", inputs: {} } } }).replace('"inputs": {}', '"inputs": {\n        "b": 1,\n        "7": 2,\n        "0": 3\n      }');
    expect(writeDocument(read(text))).toBe(text);
  });

  it("changes nothing of a document that is canonical", () => {
    const document = read(Object.values(FILES)[0] ?? "");
    expect(canonical(document)).toEqual(document);
  });
});
