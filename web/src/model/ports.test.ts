import { describe, expect, it } from "vitest";

import { inputNamed, portsOf, typeOf, valueOf } from "./ports";
import { nodes, smallCatalogue, workflow } from "./testing";

const catalogue = smallCatalogue();
const document = workflow(
  {
    old: ["load_old"], up: ["#up", { picture: "old.image" }], gone: ["pack/gone", { a: 1, b: "old.image" }], save: ["save", { image: "gone.picture" }],
    blur: ["blur", { image: "up.result", sharpness: 3, size: 4 }], lost: ["#nothing", { x: 1 }],
  },
  {
    inputs: { named: { to: "gone.c" } }, outputs: { more: { from: "gone.mask" } },
    subgraphs: {
      up: {
        nodes: nodes({ blur: ["blur", { radius: 7 }], inner: ["#leaf"], again: ["#up"] }),
        inputs: { picture: { to: "blur.image", label: "Picture" }, strength: { to: ["blur.radius"] }, free: { to: "none.x" } },
        outputs: { result: { from: "blur.image" }, said: { from: "inner.said" }, own: { from: "again.result" } },
      },
      leaf: { nodes: nodes({ text: ["text"] }), outputs: { said: { from: "text.value" } } },
    },
  },
);

describe("the type of a node", () => {
  it("is found by its former id too", () => {
    expect(typeOf(document, catalogue, "load_old")?.id).toBe("load");
    expect(typeOf(document, catalogue, "constructor")).toBeUndefined();
    expect(typeOf(document, catalogue, "#constructor")).toBeUndefined();
  });

  it("of an instance is made from the interface: types, labels and values of the ports inside", () => {
    const type = typeOf(document, catalogue, "#up");
    expect(type?.id).toBe("#up");
    expect(type?.inputs).toEqual([
      { name: "picture", type: "Image", optional: false, doc: "Picture", was: [], hint: null },
      { name: "strength", type: "float", optional: true, doc: "", was: [], hint: null, default: 7 },
      { name: "free", type: "T", optional: true, doc: "", was: [], hint: null },
    ]);
    expect(type?.outputs.map((port) => [port.name, port.type])).toEqual([["result", "Image"], ["said", "text"], ["own", "T"]]);
  });

  it("is the same object while subgraphs are", () => {
    expect(typeOf({ ...document, name: "other" }, catalogue, "#up")).toBe(typeOf(document, catalogue, "#up"));
    expect(typeOf(document, smallCatalogue(), "#up")).not.toBe(typeOf(document, catalogue, "#up"));
  });
});

describe("the ports of a node", () => {
  it("are those of its type", () => {
    const ports = portsOf(document, "", catalogue, "save");
    expect(ports.inputs).toBe(ports.type?.inputs);
    expect(ports.outputs.map((port) => port.name)).toEqual(["file"]);
  });

  it("of a missing type are what its values, links and names speak of", () => {
    const ports = portsOf(document, "", catalogue, "gone");
    expect(ports.type).toBeUndefined();
    expect(ports.inputs.map((port) => port.name)).toEqual(["a", "b", "c"]);
    expect(ports.outputs.map((port) => port.name)).toEqual(["picture", "mask"]);
    expect(portsOf(document, "", catalogue, "lost").inputs.map((port) => port.name)).toEqual(["x"]);
  });

  it("show what a node holds beside those of its type, and a former name as today's", () => {
    expect(portsOf(document, "", catalogue, "blur").inputs.map((port) => port.name)).toEqual(["image", "radius", "sharpness"]);
    const blur = typeOf(document, catalogue, "blur");
    expect(valueOf(document.nodes["blur"] as never, inputNamed(blur, "size") as never)).toBe(4);
  });

  it("are none where no node is", () => {
    expect(portsOf(document, "", catalogue, "constructor")).toEqual({ type: undefined, inputs: [], outputs: [] });
    expect(portsOf(document, "none", catalogue, "save").inputs).toEqual([]);
  });
});
