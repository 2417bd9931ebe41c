import { describe, expect, it } from "vitest";

import { writeDocument } from "./canonical";
import { copyFragment, pasteFragment } from "./clipboard";
import { emptyDocument } from "./document";
import { readDocument } from "./read";
import { frozen, nodes, workflow } from "./testing";

const box = { width: 100, height: 50 };
const source = workflow(
  { load: ["load"], blur: ["blur", { image: "load.image" }], save: ["save", { image: "blur.image" }], up: ["#up"] },
  {
    inputs: { radius: { to: "blur.radius" } }, subgraphs: { up: { nodes: nodes({ leaf: ["#leaf"] }) }, leaf: { nodes: nodes({ text: ["text"] }) }, other: { nodes: {} } },
    view: {
      nodes: { load: { x: 0, y: 0 }, blur: { x: 100, y: 50, title: "Soft" }, save: { x: 200, y: 90 } }, frames: [{ id: "f", title: "F", x: 90, y: 40, ...box }],
      notes: [{ id: "n", text: "N", x: 500, y: 500, ...box }], wires: { "save.image": { points: [[150, 60]] }, "blur.image": { points: [[50, 20]] } },
    },
  },
);

describe("a copied fragment", () => {
  it("is a workflow document: the items, their looks, the subgraphs they need", () => {
    const fragment = copyFragment(source, "", ["blur", "save", "frame:f"]);
    expect(fragment).toEqual({
      ...emptyDocument(), nodes: nodes({ blur: ["blur", { image: "load.image" }], save: ["save", { image: "blur.image" }] }),
      view: {
        nodes: { blur: { x: 100, y: 50, title: "Soft" }, save: { x: 200, y: 90 } }, frames: [{ id: "f", title: "F", x: 90, y: 40, ...box }],
        wires: { "save.image": { points: [[150, 60]] }, "blur.image": { points: [[50, 20]] } },
      },
    });
    expect(readDocument(writeDocument(fragment))).toEqual({ document: fragment });
  });

  it("holds subgraphs inside subgraphs, and no others", () => {
    expect(Object.keys(copyFragment(source, "", ["up"]).subgraphs ?? {})).toEqual(["up", "leaf"]);
    expect(Object.keys(copyFragment(source, "up", ["leaf"]).subgraphs ?? {})).toEqual(["leaf"]);
    expect(copyFragment(source, "none", ["leaf"])).toEqual(emptyDocument());
  });
});

describe("pasting", () => {
  it("gives new ids, moved looks and links among themselves", () => {
    const { edit, ids } = pasteFragment("", copyFragment(source, "", ["blur", "save", "frame:f"]), { x: 1_090.4, y: 40 }, { withLinks: false });
    const pasted = edit(source);
    expect(ids(source)).toEqual(["blur_2", "save_2", "frame:f_2"]);
    expect(ids(pasted)).toEqual(ids(source));
    expect(pasted.nodes["blur_2"]).toEqual({ type: "blur", inputs: {} });
    expect(pasted.nodes["save_2"]).toEqual({ type: "save", inputs: { image: { link: "blur_2.image" } } });
    expect(pasted.view?.nodes?.["blur_2"]).toEqual({ x: 1_100, y: 50, title: "Soft" });
    expect(pasted.view?.frames?.[1]).toEqual({ id: "f_2", title: "F", x: 1_090, y: 40, ...box });
    expect(pasted.view?.wires).toEqual({ ...source.view?.wires, "save_2.image": { points: [[1_150, 60]] } });
    expect(pasted.nodes["blur"]).toBe(source.nodes["blur"]);
  });

  it("keeps links to nodes that are there, if asked", () => {
    const fragment = copyFragment(source, "", ["blur"]);
    const kept = pasteFragment("", fragment, { x: 0, y: 0 }, { withLinks: true });
    expect(kept.edit(source).nodes["blur_2"]?.inputs).toEqual({ image: { link: "load.image" } });
    expect(kept.edit(emptyDocument()).nodes["blur"]?.inputs).toEqual({});
    expect(kept.ids(emptyDocument())).toEqual(["blur"]);
  });

  it("uses a subgraph that is there already, brings one that is not, and renames one that differs", () => {
    const { edit } = pasteFragment("", copyFragment(source, "", ["up"]), { x: 0, y: 0 }, { withLinks: false });
    expect(edit(source).subgraphs).toBe(source.subgraphs);
    expect(edit(emptyDocument()).subgraphs).toEqual({ up: source.subgraphs?.["up"], leaf: source.subgraphs?.["leaf"] });
    const differs = frozen({ ...emptyDocument(), subgraphs: { leaf: { nodes: {} } } });
    const pasted = edit(differs);
    expect(pasted.subgraphs).toEqual({ leaf: { nodes: {} }, up: { nodes: nodes({ leaf: ["#leaf_2"] }) }, leaf_2: source.subgraphs?.["leaf"] });
    expect(pasted.nodes["up"]?.type).toBe("#up");
  });

  it("puts no subgraph into itself: what is pasted into it is a copy", () => {
    const { edit } = pasteFragment("leaf", copyFragment(source, "", ["up"]), { x: 0, y: 0 }, { withLinks: false });
    const { subgraphs } = edit(source);
    expect(subgraphs?.["leaf"]?.nodes["up"]?.type).toBe("#up_2");
    expect(subgraphs?.["up_2"]?.nodes["leaf"]?.type).toBe("#leaf_2");
    expect(subgraphs?.["leaf_2"]).toEqual({ nodes: nodes({ text: ["text"] }) });
  });

  it("of nothing changes nothing", () => {
    expect(pasteFragment("", emptyDocument(), { x: 0, y: 0 }, { withLinks: true }).edit(source)).toBe(source);
    expect(pasteFragment("none", copyFragment(source, "", ["up"]), { x: 0, y: 0 }, { withLinks: true }).edit(source)).toBe(source);
  });
});
