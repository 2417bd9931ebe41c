import { describe, expect, it } from "vitest";

import type { WorkflowDocument } from "../model/document";
import { activeDocument, useDocuments } from "../state/documents";
import { usePreferences } from "../state/preferences";
import { GRID } from "./geometry";
import { keepScene } from "./linking";
import { useLocal } from "./local";
import { cancelDrag, dragBy, endDrag, nudge, startDrag } from "./moving";
import { sceneOf } from "./scene";
import { CATALOGUE, documentOf } from "./testing";

function show(document: WorkflowDocument): void {
  useDocuments.setState({ open: [], active: "" });
  useDocuments.getState().add(document);
  keepScene(sceneOf(document, "", CATALOGUE));
}

const frame = { id: "one", title: "One", x: -20, y: -40, width: 300, height: 300 };
const document = documentOf({ load: { type: "load", inputs: {} }, save: { type: "save", inputs: { image: { link: "load.image" } } } }, { frames: [frame] });
const now = () => activeDocument()?.history.document;

describe("moving", () => {
  it("is one step of undo however far it was dragged, and none before it is let go", () => {
    show(document);
    startDrag(["load"], false);
    for (let step = 1; step <= 20; step++) dragBy({ x: step * 4, y: 0 });
    expect(now()).toBe(document);
    endDrag();
    expect(now()?.view?.nodes?.["load"]).toEqual({ x: 80, y: 0 });
    useDocuments.getState().undo();
    expect(now()).toBe(document);
  });

  it("takes along what lies in a frame, and only that", () => {
    show(document);
    startDrag(["frame:one"], false);
    dragBy({ x: 20, y: 20 });
    endDrag();
    expect(now()?.view?.nodes).toEqual({ load: { x: 20, y: 24 }, save: { x: 400, y: 0 } });
    expect(now()?.view?.frames?.[0]).toMatchObject({ x: 0, y: -16 });
  });

  it("puts what the pointer holds on the grid, and the others keep their places to it", () => {
    show(documentOf({ load: { type: "load", inputs: {} }, save: { type: "save", inputs: {} } }, { nodes: { load: { x: 3, y: 0 }, save: { x: 400, y: 5 } } }));
    startDrag(["save", "load"], false);
    dragBy({ x: 30, y: 1 });
    endDrag();
    const nodes = now()?.view?.nodes;
    expect((nodes?.["save"]?.x ?? 1) % GRID).toBe(0);
    expect((nodes?.["save"]?.x ?? 0) - (nodes?.["load"]?.x ?? 0)).toBe(397);
  });

  it("goes exactly as far as the pointer where there is no grid", () => {
    show(document);
    usePreferences.setState({ snap: false });
    startDrag(["load"], false);
    dragBy({ x: 33, y: 7 });
    endDrag();
    usePreferences.setState({ snap: true });
    expect(now()?.view?.nodes?.["load"]).toEqual({ x: 33, y: 7 });
  });

  it("takes the points of a wire along with both its ends, or with the frame they lie in", () => {
    const led = documentOf(document.nodes, { frames: [frame], wires: { "save.image": { points: [[100, 40], [350, 60]] } } });
    const points = () => now()?.view?.wires?.["save.image"]?.points;
    show(led);
    startDrag(["load", "save"], false);
    dragBy({ x: 8, y: 16 });
    endDrag();
    expect(points()).toEqual([[108, 56], [358, 76]]);
    useDocuments.getState().undo();
    expect(now()).toBe(led);
    nudge(["frame:one"], { x: 8, y: 0 });
    expect(points()).toEqual([[108, 40], [350, 60]]);
    show(led);
    nudge(["save"], { x: 8, y: 0 });
    expect(points()).toEqual([[100, 40], [350, 60]]);
  });

  it("puts a loose node into the wire it is dropped on", () => {
    const loose = documentOf({ ...document.nodes, blur: { type: "blur", inputs: {} } }, { nodes: { save: { x: 800, y: 0 }, blur: { x: 0, y: 600 } } });
    show(loose);
    startDrag(["blur"], false);
    dragBy({ x: 400, y: -600 });
    expect(useLocal.getState().into).toBe("save.image");
    endDrag();
    expect(now()?.nodes["blur"]?.inputs).toEqual({ image: { link: "load.image" } });
    expect(now()?.nodes["save"]?.inputs).toEqual({ image: { link: "blur.image" } });
    useDocuments.getState().undo();
    expect(now()).toBe(loose);
  });

  it("leaves the dragged node where it was and puts a copy with its links down, with Alt", () => {
    show(document);
    startDrag(["save"], true);
    dragBy({ x: 0, y: 400 });
    endDrag();
    const copy = [...(activeDocument()?.selection ?? [])][0] ?? "";
    expect(now()?.view?.nodes?.["save"]).toEqual({ x: 400, y: 0 });
    expect(now()?.view?.nodes?.[copy]).toMatchObject({ x: 400, y: 400 });
    expect(now()?.nodes[copy]?.inputs).toEqual({ image: { link: "load.image" } });
  });

  it("moves in the document it began in, also if another is shown when it ends", () => {
    show(document);
    const first = useDocuments.getState().active;
    startDrag(["load"], false);
    dragBy({ x: 80, y: 80 });
    useDocuments.getState().add(document);
    endDrag();
    expect(now()).toBe(document);
    const moved = useDocuments.getState().open.find((one) => one.id === first)?.history.document;
    expect(moved?.view?.nodes?.["load"]).toEqual({ x: 80, y: 80 });
  });

  it("forgets a drag that is cancelled", () => {
    show(document);
    startDrag(["load"], false);
    dragBy({ x: 80, y: 80 });
    cancelDrag();
    endDrag();
    expect(now()).toBe(document);
    expect(useLocal.getState().moved).toBeNull();
  });

  it("makes one step of arrow keys that follow each other", () => {
    show(document);
    for (let step = 0; step < 5; step++) {
      nudge(["save"], { x: 8, y: 0 });
      keepScene(sceneOf(now() ?? document, "", CATALOGUE));
    }
    expect(now()?.view?.nodes?.["save"]).toEqual({ x: 440, y: 0 });
    expect(activeDocument()?.history.past).toHaveLength(1);
  });
});
