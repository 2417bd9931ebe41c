import fc from "fast-check";
import { describe, expect, it } from "vitest";

import miniFile from "../../../workflows/mini_text_to_image.json?raw";
import { judge } from "./connect";
import type { WorkflowDocument } from "./document";
import { linksOf } from "./graph";
import { readDocument } from "./read";
import { makeSubgraph, removeSubgraph, unpack } from "./subgraphs";
import { frozen, nodes, smallCatalogue, workflow } from "./testing";

const document = workflow(
  {
    load: ["load"], blur: ["blur", { image: "load.image", radius: 3 }], again: ["blur", { image: "blur.image", radius: "count.value" }], count: ["integer"],
    grid: ["grid", { images: "again.image" }], save: ["save", { image: "again.image", name: "x" }],
  },
  {
    inputs: { radius: { to: ["blur.radius", "save.name"], label: "Radius" }, both: { to: ["load.file", "count.value"] } },
    outputs: { soft: { from: "again.image" }, file: { from: "save.file" } },
    view: {
      nodes: { load: { x: 0, y: 0 }, blur: { x: 100, y: 0 }, again: { x: 300, y: 50 } }, frames: [{ id: "f", title: "F", x: 1, y: 2, width: 3, height: 4 }],
      wires: { "again.image": { points: [[200, 20]] }, "blur.image": { points: [[50, 0]] }, "save.image": { points: [[350, 50]] } },
    },
  },
);

describe("making a subgraph", () => {
  const made = makeSubgraph("", ["blur", "again", "frame:f"], "Soften twice")(document);

  it("names what crosses the border, once for each source", () => {
    expect(made.subgraphs?.["soften_twice"]).toEqual({
      nodes: nodes({ blur: ["blur", { radius: 3 }], again: ["blur", { image: "blur.image" }] }),
      inputs: { image: { to: "blur.image" }, radius: { to: "again.radius" }, radius_2: { to: "blur.radius", label: "Radius" } },
      outputs: { image: { from: "again.image" } },
      view: { nodes: { blur: { x: 100, y: 0 }, again: { x: 300, y: 50 } }, frames: [{ id: "f", title: "F", x: 1, y: 2, width: 3, height: 4 }], wires: { "again.image": { points: [[200, 20]] } } },
    });
  });

  it("leaves one instance in place of the nodes, linked as they were", () => {
    expect(Object.keys(made.nodes)).toEqual(["load", "soften_twice", "count", "grid", "save"]);
    expect(made.nodes["soften_twice"]).toEqual({ type: "#soften_twice", inputs: { image: { link: "load.image" }, radius: { link: "count.value" } } });
    expect(made.nodes["save"]?.inputs).toEqual({ image: { link: "soften_twice.image" }, name: "x" });
    expect(made.inputs).toEqual({ radius: { to: ["soften_twice.radius_2", "save.name"], label: "Radius" }, both: document.inputs?.["both"] });
    expect(made.outputs).toEqual({ soft: { from: "soften_twice.image" }, file: { from: "save.file" } });
    expect(made.view).toEqual({ nodes: { load: { x: 0, y: 0 }, soften_twice: { x: 200, y: 25 } }, frames: [], wires: { "save.image": { points: [[350, 50]] } } });
  });

  it("joins targets of one named input, and links from one source, at one port", () => {
    const both = makeSubgraph("", ["load", "count"], "both")(document);
    expect(both.subgraphs?.["both"]?.inputs).toEqual({ both: { to: ["load.file", "count.value"] } });
    expect(both.inputs?.["both"]).toEqual({ to: "both.both" });
    const ends = makeSubgraph("", ["grid", "save"], "ends")(document);
    expect(ends.subgraphs?.["ends"]?.inputs?.["images"]).toEqual({ to: ["grid.images", "save.image"] });
    expect(ends.nodes["ends"]?.inputs).toEqual({ images: { link: "again.image" } });
  });

  it("finds a free id for the subgraph and for its instance, and changes nothing for no nodes", () => {
    const twice = makeSubgraph("", ["count"], "soften twice")(made);
    expect(Object.keys(twice.subgraphs ?? {})).toEqual(["soften_twice", "soften_twice_2"]);
    expect(makeSubgraph("", ["none", "frame:f"], "a")(document)).toBe(document);
    expect(Object.keys(makeSubgraph("", ["save"], "save")(document).nodes)).toContain("save");
  });

  it("works inside a subgraph", () => {
    const inner = makeSubgraph("soften_twice", ["again"], "inner")(made);
    expect(inner.subgraphs?.["soften_twice"]?.outputs).toEqual({ image: { from: "inner.image" } });
    expect(inner.subgraphs?.["soften_twice"]?.inputs?.["radius"]).toEqual({ to: "inner.radius" });
    expect(inner.subgraphs?.["inner"]?.inputs).toEqual({ image: { to: "again.image" }, radius: { to: "again.radius" } });
    expect(inner.nodes).toBe(made.nodes);
  });
});

describe("unpacking", () => {
  it("puts the nodes back where the instance was, and takes out a subgraph that nobody uses", () => {
    const made = makeSubgraph("", ["blur", "again", "frame:f"], "soft")(document);
    const { view, ...rest } = unpack("", "soft")(made);
    expect(rest).toEqual({ ...document, view: undefined, inputs: { ...document.inputs } });
    expect(view?.nodes).toEqual(document.view?.nodes);
    expect(view?.frames).toEqual(document.view?.frames);
    expect(view?.wires).toEqual({ "again.image": { points: [[200, 20]] }, "save.image": { points: [[350, 50]] } });
  });

  it("lays values and state of the instance on the nodes, and finds free ids", () => {
    const two = workflow(
      { blur: ["load"], up: ["#up", { picture: "blur.image", size: 9 }], other: ["#up"], save: ["save", { image: "up.result" }] },
      { subgraphs: { up: { nodes: nodes({ blur: ["blur", { radius: 1 }], more: ["blur", { image: "blur.image" }] }), inputs: { picture: { to: "blur.image" }, size: { to: ["blur.radius", "more.radius"] } }, outputs: { result: { from: "more.image" } } } } },
    );
    const unpacked = unpack("", "up")({ ...two, nodes: { ...two.nodes, up: { ...two.nodes["up"], state: "muted" } as never } });
    expect(unpacked.nodes).toEqual({
      blur: { type: "load", inputs: {} }, blur_2: { type: "blur", inputs: { radius: 9, image: { link: "blur.image" } }, state: "muted" },
      more: { type: "blur", inputs: { image: { link: "blur_2.image" }, radius: 9 }, state: "muted" }, other: { type: "#up", inputs: {} },
      save: { type: "save", inputs: { image: { link: "more.image" } } },
    });
    expect(unpacked.subgraphs).toBe(two.subgraphs);
  });

  it("changes nothing where there is no instance", () => {
    expect(unpack("", "blur")(document)).toBe(document);
    expect(unpack("", "constructor")(document)).toBe(document);
  });

  it("is the way back from any choice of nodes of a real workflow", () => {
    const read = readDocument(miniFile);
    if ("flaws" in read) throw new Error("the mini workflow is refused");
    const mini = frozen(read.document);
    const core = (of: WorkflowDocument): unknown => ({ nodes: of.nodes, inputs: of.inputs, outputs: of.outputs, links: [...linksOf(of)].map((wire) => `${wire.from} ${wire.to}`).sort() });
    fc.assert(
      fc.property(fc.subarray(Object.keys(mini.nodes), { minLength: 1 }), (chosen) => {
        const made = frozen(makeSubgraph("", chosen, "part")(mini));
        expect(core(unpack("", "part")(made))).toEqual(core(mini));
      }),
      { numRuns: 60, seed: 4 },
    );
  });
});

describe("a subgraph that nobody uses", () => {
  it("can be taken out, one in use not", () => {
    const made = makeSubgraph("", ["blur"], "soft")(document);
    expect(removeSubgraph("soft")(made)).toBe(made);
    const { soft: _, ...rest } = made.nodes;
    expect(removeSubgraph("soft")({ ...made, nodes: rest }).subgraphs).toBeUndefined();
  });
});

describe("types through a new subgraph", () => {
  it("are judged as before", () => {
    const made = makeSubgraph("", ["blur", "again"], "soft")(document);
    expect(judge(made, "", smallCatalogue(), "soft.image", "save.image")).toEqual({ ok: true, fit: "direct" });
    expect(judge(made, "", smallCatalogue(), "save.file", "soft.image").ok).toBe(false);
  });
});
