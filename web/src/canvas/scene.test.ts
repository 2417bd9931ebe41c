import { describe, expect, it } from "vitest";

import { moveItems, setInput } from "../model/edit";
import { flowNodeOf } from "./flow";
import { sceneOf, sceneWith } from "./scene";
import { CATALOGUE, documentOf } from "./testing";

const document = documentOf({
  load: { type: "load", inputs: {} },
  blur: { type: "blur", inputs: { image: { link: "load.image" } } },
  save: { type: "save", inputs: { image: { link: "blur.image" } } },
});

describe("scene", () => {
  it("keeps the objects of every node but the one that was edited", () => {
    const before = sceneOf(document, "", CATALOGUE);
    const after = sceneOf(setInput("", "blur", "radius", 7)(document), "", CATALOGUE, before);
    const changed = [...after.items.keys()].filter((id) => after.items.get(id) !== before.items.get(id));
    expect(changed).toEqual(["blur"]);
    expect([...after.wires.values()].every((wire) => before.wires.get(wire.to) === wire)).toBe(true);
  });

  it("gives xyflow the same node for the same item", () => {
    const before = sceneOf(document, "", CATALOGUE);
    const after = sceneOf({ ...document, name: "other" }, "", CATALOGUE, before);
    for (const [id, item] of after.items) expect(flowNodeOf(item, false)).toBe(flowNodeOf(before.items.get(id) ?? item, false));
  });

  it("moves only the wires of what is dragged", () => {
    const scene = sceneOf(document, "", CATALOGUE);
    const live = sceneWith(scene, new Map([["load", { x: 0, y: 80 }]]), scene);
    expect(live.wires.get("save.image")).toBe(scene.wires.get("save.image"));
    expect(live.wires.get("blur.image")?.start.y).toBe((scene.wires.get("blur.image")?.start.y ?? 0) + 80);
  });

  it("draws a dragged item as the document has it once it is let go", () => {
    const scene = sceneOf(document, "", CATALOGUE);
    const live = sceneWith(scene, new Map([["load", { x: 16, y: 80 }]]), scene);
    const after = sceneOf(moveItems("", { load: { x: 16, y: 80 } })(document), "", CATALOGUE, scene);
    expect({ ...after.items.get("load"), view: null }).toEqual({ ...live.items.get("load"), view: null });
  });

  it("shows a missing type with the ports that its values and links speak of", () => {
    const scene = sceneOf(documentOf({
      lost: { type: "pack/lost", inputs: { strength: 0.5, image: { link: "load.image" } } },
      load: { type: "load", inputs: {} },
      save: { type: "save", inputs: { image: { link: "lost.result" } } },
    }), "", CATALOGUE);
    expect([...scene.wires.keys()]).toEqual(["lost.image", "save.image"]);
  });

  it("gives places to nodes that have none, from left to right along the links", () => {
    const { view: _, ...bare } = document;
    const items = sceneOf(bare, "", CATALOGUE).items;
    expect((items.get("load")?.x ?? 0) < (items.get("blur")?.x ?? 0)).toBe(true);
    expect((items.get("blur")?.x ?? 0) < (items.get("save")?.x ?? 0)).toBe(true);
  });
});
