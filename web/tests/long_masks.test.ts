/** Masks: painted on the page, and what is drawn with them; in `make test-all` only. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

import { longFlow } from "./rig/flow";
import { button, node, nodesShown, untilState } from "./rig/page";
import { ROOT, type Server } from "./rig/server";
import { until } from "./rig/until";

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue of each, row by row. */
  readonly colours: readonly (readonly [number, number, number])[];
}

/** A picture, decoded by the browser. */
async function pixels(page: Page, picture: Buffer): Promise<Pixels> {
  const { width, height, data } = await page.evaluate(async (base64) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    return { width: bitmap.width, height: bitmap.height, data: [...(context?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [])] };
  }, picture.toString("base64"));
  const colours = Array.from({ length: width * height }, (_, at) => [data[4 * at] ?? 0, data[4 * at + 1] ?? 0, data[4 * at + 2] ?? 0] as const);
  return { width, height, colours };
}

async function bytesAt(server: Server, path: string): Promise<Buffer> {
  return Buffer.from(await (await server.fetch("GET", path)).arrayBuffer());
}

/** A stroke over a picture; places are parts of its sides. */
async function stroke(page: Page, picture: Locator, from: readonly [number, number], to: readonly [number, number]): Promise<void> {
  const box = await until("the picture", async () => {
    const found = await picture.boundingBox();
    return found !== null && found.width > 100 ? found : null;
  });
  const at = ([x, y]: readonly [number, number]): [number, number] => [box.x + box.width * x, box.y + box.height * y];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 8 });
  await page.mouse.up();
}

longFlow("paints a mask and inpaints", async ({ open, server }) => {
  const document = JSON.parse(readFileSync(join(ROOT, "workflows/mini_inpaint.json"), "utf8")) as { nodes: { mask: { inputs: { file: { sha256: string } } } } };
  const shipped = document.nodes.mask.inputs.file.sha256;
  await server.fetch("PUT", "/v1/drafts/7f9f1b52-6a43-4f6e-9a55-8d6a3c9b1f22", { document, workflow: null, base: null }, { "If-None-Match": "*" });
  const page = await open();
  await nodesShown(page);
  await node(page, "mask").locator("header").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Paint a mask for the selected node" }).click();

  // It is painted on the picture that the mask is for, and replaces the mask of the node.
  const dialog = page.getByRole("dialog", { name: "Mask for mini_input.png" });
  const place = dialog.getByRole("combobox", { name: "Where the mask goes" });
  expect(await place.evaluate((select: HTMLSelectElement) => [...select.options].map((one) => one.text))).toEqual(["in place of mask's mask", "as a node of its own"]);
  const picture = dialog.getByRole("img", { name: "mini_input.png" });
  const isPainted = (x: number, y: number): Promise<boolean> =>
    dialog.locator("canvas").evaluate((canvas: HTMLCanvasElement, at) => canvas.getContext("2d")?.getImageData(at.x, at.y, 1, 1).data[3] === 255, { x, y });
  await until("the mask that is there", () => isPainted(48, 20));
  expect(await isPainted(16, 20)).toBe(false);
  await button(dialog, "Clear").click();
  await dialog.getByRole("slider", { name: "Size" }).fill("19"); // 32 pixels across
  await stroke(page, picture, [0, 0.75], [1, 0.75]);
  await button(dialog, "Use in the workflow").click();
  await dialog.waitFor({ state: "detached" });
  const file = await until("the painted mask", async () => {
    const found = (await server.nodes())["mask"]?.inputs?.["file"] as { file: string; sha256: string };
    return found.sha256 === shipped ? null : found;
  });
  expect(file.file).toBe("mini_input-mask.png");
  const mask = await pixels(page, await bytesAt(server, `/v1/files/${file.sha256}/content`));
  expect([mask.width, mask.height]).toEqual([64, 64]);

  await button(page, "Run").click();
  await untilState(page, "save", "done");
  const before = await pixels(page, readFileSync(join(ROOT, "workflows/mini_input.png")));
  const [made] = (await server.read("/v1/outputs"))["outputs"] as { id: string }[];
  const after = await pixels(page, await bytesAt(server, `/v1/outputs/${made?.id}/file`));
  const inside = mask.colours.flatMap(([level], at) => (level === 255 ? [at] : []));
  const outside = mask.colours.flatMap(([level], at) => (level === 0 ? [at] : []));
  expect(Math.min(inside.length, outside.length)).toBeGreaterThan(1000);
  expect(outside.map((at) => after.colours[at])).toEqual(outside.map((at) => before.colours[at]));
  const isRed = (of: Pixels, at: number): boolean => { const [red, green] = of.colours[at] ?? [0, 0]; return red > 120 && green < 90; };
  const isGreen = (at: number): boolean => { const [red, green] = after.colours[at] ?? [0, 0]; return green > 100 && red < 90; };
  const wasRed = inside.filter((at) => isRed(before, at)).length;
  expect(wasRed).toBeGreaterThan(200);
  expect(inside.filter((at) => isRed(after, at)).length).toBeLessThan(wasRed / 4); // the seam takes some of both
  expect(inside.filter(isGreen).length).toBeGreaterThan(wasRed / 2);
});
