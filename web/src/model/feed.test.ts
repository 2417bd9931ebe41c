import { expect, test } from "vitest";

import type { Catalogue, NodeType } from "./catalogue";
import { emptyDocument } from "./document";
import { addLoader, loaderOf, maskLoader } from "./feed";

function type(id: string, inputs: object[], gives: string): NodeType {
  const port = { optional: false, doc: "", was: [] };
  return {
    id, title: id, version: 1, doc: "", category: "image", light: false, effect: false, cache: true, place: "host", was: [], pack: null,
    inputs: inputs.map((one) => ({ ...port, ...one })) as unknown as NodeType["inputs"],
    outputs: [{ name: gives.toLowerCase(), type: gives, doc: "" }],
  };
}
const file = (kinds: string[]): object => ({ name: "file", type: "text", hint: { hint: "file", kinds } });
const loadImage = type("load_image", [file(["image"])], "Image");
const loadMask = type("load_mask", [file(["image"])], "Mask");

function catalogue(...types: NodeType[]): Catalogue {
  const fits = { Image: { Image: "direct" }, Mask: { Mask: "direct" } } as const;
  return { version: "1", types: new Map(types.map((one) => [one.id, one])), plain: new Set(), fits };
}
const sha256 = "a".repeat(64);

test("a picture is opened by load_image, though load_mask takes pictures too", () => {
  expect(loaderOf(catalogue(loadMask, loadImage), "image")?.type.id).toBe("load_image");
  expect(loaderOf(catalogue(loadMask, loadImage), "video")).toBeUndefined();
});

test("a mask goes through the type that gives Mask, and through load_image where there is none", () => {
  expect(maskLoader(catalogue(loadImage, loadMask))?.type.id).toBe("load_mask");
  expect(maskLoader(catalogue(loadImage))?.type.id).toBe("load_image");
});

test("a file becomes a node with a free id at the place", () => {
  const known = catalogue(loadImage);
  const loader = loaderOf(known, "image");
  if (loader === undefined) throw new Error("there is load_image");
  const add = addLoader("", loader, { file: "cat.png", sha256 }, { x: 10, y: 20 }).edit;
  const twice = add(add(emptyDocument()));
  expect(Object.keys(twice.nodes)).toHaveLength(2);
  expect(twice.nodes["load_image"]).toEqual({ type: "load_image", inputs: { file: { file: "cat.png", sha256 } } });
  expect(twice.view?.nodes?.["load_image"]).toEqual({ x: 10, y: 20 });
});
