import { expect, test } from "vitest";

import { field, find } from "./search";

const things = [
  { id: "load_image", fields: [field("Load image", 10, true), field("load_image", 9, true), field("Image", 4), field("Reads a picture from a file.", 2)] },
  { id: "save_image", fields: [field("Save image", 10, true), field("save_image", 9, true), field("Image", 4), field("Writes a picture to the gallery.", 2)] },
  { id: "sample", fields: [field("Sample", 10, true), field("sample", 9, true), field("Sampling", 4), field("latents model", 3)] },
  { id: "upsample", fields: [field("Upscale", 10, true), field("upsample", 9, true), field("Image", 4)] },
  { id: "sigmas", fields: [field("Sigmas", 10, true), field("sigmas", 9, true), field("Sampling", 4), field("steps", 3)] },
];
const found = (query: string): string[] => find(query, things).map((one) => one.id);

test("nothing typed finds everything in its order", () => expect(found(" ")).toEqual(things.map((one) => one.id)));
test("the beginning of a title comes before its middle", () => expect(found("sampl").slice(0, 2)).toEqual(["sample", "upsample"]));
test("every word must be found, in any order and field", () => {
  expect(found("image load")).toEqual(["load_image"]);
  expect(found("image latents")).toEqual([]);
});
test("category, ports and words of the description are searched", () => {
  expect(found("sampling")).toEqual(["sample", "sigmas"]);
  expect(found("latents")).toEqual(["sample"]);
  expect(found("gallery")).toEqual(["save_image"]);
});
test("initials and letters in order are enough", () => {
  expect(found("li")[0]).toBe("load_image");
  expect(found("smpl")[0]).toBe("sample");
});
test("one slip is forgiven: swapped, missing, other, one more", () => {
  for (const slip of ["smaple", "sampe", "sanple", "sammple"]) expect(found(slip)[0]).toBe("sample");
});
test("letters all over the place find nothing", () => expect(found("xyzzy")).toEqual([]));
test("case and accents do not matter", () => expect(found("LÖAD")[0]).toBe("load_image"));
test("what is used often comes first among equals", () => {
  expect(find("image", things, (one) => (one.id === "save_image" ? 1 : 0))[0]?.id).toBe("save_image");
});
test("two thousand things are searched within a frame", () => {
  const many = Array.from({ length: 2000 }, (_, n) => ({ fields: [field(`Node number ${n}`, 10, true), field("Takes something and gives something else again.", 2)] }));
  const begun = performance.now();
  find("nmber somethign", many);
  expect(performance.now() - begun).toBeLessThan(200);
});
