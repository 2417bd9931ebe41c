import { expect, it, vi } from "vitest";

import { attachPreview, hidePreviews, showPreview } from "./previews";

it("holds two object URLs of a node at most and releases all in the end", () => {
  let made = 0;
  vi.spyOn(URL, "createObjectURL").mockImplementation(() => `blob:${++made}`);
  const released = vi.spyOn(URL, "revokeObjectURL").mockImplementation(() => {});
  const image = { src: "" } as HTMLImageElement;
  attachPreview("j", "n", image);
  for (let at = 0; at < 10; at += 1) showPreview("j", "n", new Uint8Array([at]));
  expect(image.src).toBe("blob:10");
  expect(released).toHaveBeenCalledTimes(8);
  hidePreviews("j");
  expect(released).toHaveBeenCalledTimes(10);
});
