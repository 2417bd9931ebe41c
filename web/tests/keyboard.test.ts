import type { Page } from "playwright-core";
import { expect } from "vitest";

import { flow } from "./rig/flow";
import { nodesShown } from "./rig/page";
import { until } from "./rig/until";

/** Press a key until the element with the focus is the one. */
async function pressUntil(page: Page, key: string, selector: string, most = 120): Promise<void> {
  for (let presses = 0; presses < most; presses++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} pressed ${most} times never came to ${selector}`);
}

async function toCanvas(page: Page): Promise<void> {
  await pressUntil(page, "F6", "[data-surface]");
}

/** From wherever the focus is to a node: the part of the page after the canvas, and back into it by Shift+Tab. */
async function toNode(page: Page, id: string): Promise<void> {
  await toCanvas(page);
  await page.keyboard.press("F6");
  await pressUntil(page, "Shift+Tab", `.react-flow__node[data-id="${id}"]`);
}

/** Space selects a node that is not: its ports and values are stops of Tab then. */
async function select(page: Page, id: string): Promise<void> {
  await toNode(page, id);
  if ((await page.locator(`.react-flow__node.selected[data-id="${id}"]`).count()) === 0) await page.keyboard.press("Space");
}

async function add(page: Page, type: string): Promise<void> {
  await toCanvas(page);
  await page.keyboard.press("Tab");
  await page.getByRole("combobox", { name: "Add a node" }).waitFor();
  await page.keyboard.type(type);
  await page.getByRole("option", { selected: true }).getByRole("code").getByText(type, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
}

/** Wire an input: Enter on its port, arrows to the output, Enter. */
async function wire(page: Page, id: string, input: string, from: string): Promise<void> {
  await select(page, id);
  await pressUntil(page, "Tab", `[data-id="${id}"] [data-port="${input}"][data-side="input"]`);
  await page.keyboard.press("Enter");
  const [source, output] = from.split(".");
  const told = page.locator("[aria-live=polite]").filter({ hasText: new RegExp(`^${output} of ${source}, `) });
  for (let tries = 0; tries < 12 && (await told.count()) === 0; tries++) await page.keyboard.press("ArrowDown");
  await told.waitFor();
  await page.keyboard.press("Enter");
}

/** Type a value into the widget of an input. */
async function type(page: Page, id: string, input: string, text: string): Promise<void> {
  await select(page, id);
  await pressUntil(page, "Tab", `[data-id="${id}"] [data-widget="${input}"]`);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
  await page.keyboard.press("Tab");
}

flow("a text-to-image graph is built and run by keyboard alone", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await page.keyboard.press("Alt+n");
  await page.getByText("Nothing here yet").waitFor();
  for (const one of ["load_pipeline", "tokenize", "encode_text", "empty_latents", "denoise", "decode", "save_image"]) await add(page, one);
  await wire(page, "tokenize", "tokenizer", "load_pipeline.tokenizer");
  await wire(page, "encode_text", "text_encoder", "load_pipeline.text_encoder");
  await wire(page, "encode_text", "tokens", "tokenize.tokens");
  await wire(page, "denoise", "denoiser", "load_pipeline.denoiser");
  await wire(page, "denoise", "scheduler", "load_pipeline.scheduler");
  await wire(page, "denoise", "positive", "encode_text.embedding");
  await wire(page, "denoise", "latents", "empty_latents.latents");
  await wire(page, "decode", "vae", "load_pipeline.vae");
  await wire(page, "decode", "latents", "denoise.latents");
  await wire(page, "save_image", "image", "decode.image");
  await type(page, "load_pipeline", "model", "mini");
  await type(page, "tokenize", "prompt", "a large red circle on a blue background");
  await type(page, "empty_latents", "width", "64");
  await type(page, "empty_latents", "height", "64");
  await type(page, "denoise", "guidance", "0");

  await toCanvas(page);
  await page.keyboard.press("Control+Enter");
  await page.locator("[aria-live=polite]").filter({ hasText: /^The run is done/ }).waitFor();
  await until("the picture", async () => (await server.read("/v1/outputs"))["outputs"].length === 1);
  expect((await server.jobs()).map((job) => job.state)).toEqual(["done"]);
});
