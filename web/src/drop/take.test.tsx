// @vitest-environment happy-dom

/** What is dropped on a document is for that document, however long it takes to come to the server. */

import { afterEach, expect, it, vi } from "vitest";

import type { NodeType } from "../model/catalogue";
import { emptyDocument } from "../model/document";
import { useCatalogue } from "../state/catalogue";
import { useDocuments } from "../state/documents";
import { takeOutput } from "./take";

const LOADER = {
  id: "load_image", title: "Load image", version: 1, category: "", doc: "", pack: null, was: [], tags: [],
  inputs: [{ name: "image", type: "file", optional: false, doc: "", was: [], hint: { hint: "file", kinds: ["image"] } }], outputs: [{ name: "image", type: "Image", doc: "", was: [] }],
} as unknown as NodeType; // the rest plays no part

afterEach(() => vi.unstubAllGlobals());

it("goes into the document it was dropped on, also if another is shown meanwhile", async () => {
  useCatalogue.setState(({ catalogue }) => ({ catalogue: { ...catalogue, types: new Map([["load_image", LOADER]]) } }));
  useDocuments.setState({ open: [], active: "" });
  const { add } = useDocuments.getState();
  const first = add(emptyDocument("first"));
  let release = (): void => {};
  const late = new Promise<void>((resolve) => { release = resolve; });
  vi.stubGlobal("fetch", async (where: string) => {
    await late;
    return where.endsWith("/file") ? new Response(new Blob(["x"])) : new Response(JSON.stringify({ id: "o", file: "o.png", kind: "image" }));
  });
  vi.stubGlobal("XMLHttpRequest", class {
    upload = {};
    status = 201;
    responseText = JSON.stringify({ name: "o.png", sha256: "a".repeat(64), kind: "image" });
    onload = (): void => {};
    open(): void {}
    setRequestHeader(): void {}
    getResponseHeader(): null { return null; }
    send(): void { this.onload(); }
  });
  const done = takeOutput("o", { x: 0, y: 0 });
  const second = add(emptyDocument("second"));
  release();
  expect(await done).toBe(true);
  const nodesOf = (id: string): string[] => Object.keys(useDocuments.getState().open.find((one) => one.id === id)?.history.document.nodes ?? {});
  expect([nodesOf(first), nodesOf(second)]).toEqual([["load_image"], []]);
});
