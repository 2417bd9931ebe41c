import { beforeEach, describe, expect, it } from "vitest";

import type { WorkflowDocument } from "../model/document";
import { activeDocument, useDocuments } from "../state/documents";
import { candidates, endLink, keepScene, leadLink, linking, startLink, stopLink } from "./linking";
import { portPoint, sceneOf } from "./scene";
import { CATALOGUE, documentOf } from "./testing";

function show(document: WorkflowDocument) {
  useDocuments.setState({ open: [], active: "" });
  useDocuments.getState().add(document);
  const scene = sceneOf(document, "", CATALOGUE);
  keepScene(scene);
  return scene;
}

const document = documentOf({
  load: { type: "load", inputs: {} },
  blur: { type: "blur", inputs: { image: { link: "load.image" } } },
  save: { type: "save", inputs: {} },
  encode: { type: "encode", inputs: {} },
});
const at = (scene: ReturnType<typeof show>, node: string, port: string, side: "input" | "output") =>
  portPoint(scene.items.get(node), port, side) ?? { x: NaN, y: NaN };
const inputsOf = (node: string) => activeDocument()?.history.document.nodes[node]?.inputs;

describe("linking", () => {
  beforeEach(() => stopLink());

  it("connects where the wire is let go, as one step", () => {
    const scene = show(document);
    startLink({ node: "blur", port: "image", side: "output" }, { x: 0, y: 0 }, "pointer");
    leadLink(scene, at(scene, "save", "image", "input"), 1);
    endLink(scene);
    expect(inputsOf("save")).toEqual({ image: { link: "blur.image" } });
    expect(activeDocument()?.history.past).toHaveLength(1);
  });

  it("replaces what a used input is linked to", () => {
    const scene = show(documentOf({ ...document.nodes, save: { type: "save", inputs: { image: { link: "load.image" } } } }));
    startLink({ node: "blur", port: "image", side: "output" }, { x: 0, y: 0 }, "pointer");
    leadLink(scene, at(scene, "save", "image", "input"), 1);
    endLink(scene);
    expect(inputsOf("save")).toEqual({ image: { link: "blur.image" } });
  });

  it("leaves everything as it is where the wire is refused", () => {
    const scene = show(document);
    startLink({ node: "encode", port: "latents", side: "output" }, { x: 0, y: 0 }, "pointer");
    leadLink(scene, at(scene, "blur", "image", "input"), 1);
    endLink(scene);
    expect(activeDocument()?.history.document).toBe(document);
  });

  it("says in a sentence why a port does not take the wire", () => {
    const scene = show(document);
    startLink({ node: "encode", port: "latents", side: "output" }, { x: 0, y: 0 }, "pointer");
    leadLink(scene, at(scene, "save", "image", "input"), 1);
    const verdict = linking()?.verdict;
    expect(verdict?.ok === false && verdict.reason).toMatch(/Latents.*Image/);
  });

  it("takes a wire's end to another input: the first is free then", () => {
    const scene = show(document);
    startLink({ node: "load", port: "image", side: "output" }, { x: 0, y: 0 }, "pointer", "blur.image");
    leadLink(scene, at(scene, "save", "image", "input"), 1);
    endLink(scene);
    expect(inputsOf("blur")).toEqual({});
    expect(inputsOf("save")).toEqual({ image: { link: "load.image" } });
    expect(activeDocument()?.history.past).toHaveLength(1);
  });

  it("removes a wire whose end is dropped on the ground", () => {
    const scene = show(document);
    startLink({ node: "load", port: "image", side: "output" }, { x: 0, y: 0 }, "pointer", "blur.image");
    leadLink(scene, { x: 200, y: 900 }, 1);
    endLink(scene);
    expect(inputsOf("blur")).toEqual({});
  });

  it("finds the fitting port of a node whose body the pointer is over", () => {
    const scene = show(document);
    startLink({ node: "load", port: "image", side: "output" }, { x: 0, y: 0 }, "pointer");
    const save = scene.items.get("save");
    leadLink(scene, { x: (save?.x ?? 0) + 150, y: (save?.y ?? 0) + 10 }, 1);
    expect(linking()?.aim).toEqual({ node: "save", port: "image", side: "input" });
  });

  it("lists only ports that take the wire, the nearest first, for the keyboard", () => {
    const scene = show(document);
    expect(candidates(scene, { node: "blur", port: "image", side: "output" }).map((end) => `${end.node}.${end.port}`)).toEqual(["save.image", "encode.image"]);
  });
});
