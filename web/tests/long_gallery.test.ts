/** Results that come in large numbers, as films, from the command line, and by hand; in `make test-all` only. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "vitest";

import { openWith, untilKept, workflowOf } from "./rig/document";
import { filmOf } from "./rig/film";
import { longFlow } from "./rig/flow";
import { card, emptyGallery, publish, untilShown } from "./rig/outputs";
import { button, node, nodesShown, showPanel } from "./rig/page";
import { PROGRAM, PYTHON, ROOT } from "./rig/server";
import { until } from "./rig/until";

const PICTURE = readFileSync(join(ROOT, "workflows/mini_input.png"));
const NOTE = workflowOf({ text: { type: "text", inputs: { value: "x" } } }, { view: { nodes: { text: { x: 0, y: 0 } } } });

longFlow("the gallery goes on as one scrolls, to the oldest result, each of them once", async ({ open, server }) => {
  await emptyGallery(server);
  const names = Array.from({ length: 150 }, (_, at) => `number ${String(at + 1).padStart(3, "0")}`);
  for (const prompt of names) publish(server, { id: prompt.replace(" ", "-"), kind: "image", suffix: ".png", bytes: PICTURE, prompt });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  const pictures = button(gallery, /^Show large: /);
  await until("the first page", async () => (await pictures.count()) > 0);
  expect(await pictures.count()).toBeLessThan(names.length);
  await until("the oldest", async () => {
    await pictures.last().scrollIntoViewIfNeeded();
    return (await pictures.count()) >= names.length;
  });
  const shown = await pictures.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")?.replace("Show large: ", "")));
  expect(shown.toSorted()).toEqual(names);
  await pictures.last().scrollIntoViewIfNeeded();
  await until("its thumbnail", () => pictures.last().locator("img").evaluate((img) => (img as HTMLImageElement).naturalWidth > 0));
  await emptyGallery(server);
});

longFlow("results of one kind are shown where that is asked for", async ({ open, server }) => {
  await emptyGallery(server);
  publish(server, { id: "a-curve", kind: "curve", suffix: ".curve", bytes: Buffer.from("{}"), prompt: "a curve" });
  publish(server, { id: "a-picture", kind: "image", suffix: ".png", bytes: PICTURE, prompt: "a picture" });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await until("both", async () => (await button(gallery, /^Show large: /).count()) === 2);
  const kind = gallery.getByRole("combobox", { name: "Kind" });
  await kind.selectOption("curve");
  await untilShown(gallery, "a curve");
  await kind.selectOption("image");
  await untilShown(gallery, "a picture");
  await kind.selectOption("");
  await until("both again", async () => (await button(gallery, /^Show large: /).count()) === 2);
});

longFlow("a result of the command line appears in the gallery by itself", async ({ open, server }) => {
  await emptyGallery(server);
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await gallery.getByText("No results yet").waitFor();
  const [home, outputs] = [join(server.folder, "other home"), join(server.folder, "home/outputs")];
  const words = ["run", join(ROOT, "workflows/mini_text_to_image.json"), "--set", "prompt=of the command line", "--set", "steps=1", "--devices", "cpu:0", "--home", home, "--output", outputs];
  const run = spawn(PYTHON, ["-c", PROGRAM, ...words], { cwd: ROOT, stdio: "ignore", env: { ...process.env, OMP_NUM_THREADS: "1", HF_HUB_OFFLINE: "1" } });
  expect(await once(run, "exit")).toEqual([0, null]);
  await untilShown(gallery, "of the command line");
});

longFlow("a film is played from any place, and only the parts that are needed are fetched", async ({ open, server }) => {
  await emptyGallery(server);
  const page = await open();
  await nodesShown(page);
  const bytes = await filmOf(page, 120);
  expect(bytes.length).toBeGreaterThan(6 << 20); // more than the browser reads ahead
  publish(server, { id: "a-film", kind: "video", suffix: ".webm", bytes, prompt: "a film" });
  const asked: { from: number; status: number }[] = [];
  page.on("response", (response) => {
    const range = /^bytes=(\d+)-/.exec(response.request().headers()["range"] ?? "");
    if (range !== null && response.url().includes("/a-film/file")) asked.push({ from: Number(range[1]), status: response.status() });
  });
  const gallery = await showPanel(page, "Gallery");
  await button(gallery, "Show large: a film").click();
  const dialog = page.getByRole("dialog", { name: "a film" });
  const film = dialog.locator("video");
  await until("its length to be known", async () => (await film.evaluate((video) => (video as HTMLVideoElement).duration)) === 30);
  const grey = (): Promise<number> => film.evaluate((video) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context?.drawImage(video as HTMLVideoElement, 0, 0, 1, 1);
    return context?.getImageData(0, 0, 1, 1).data[0] ?? -1;
  });
  await until("the first picture to be black", async () => (await grey()) < 20);
  await film.evaluate((video) => (video as HTMLVideoElement).currentTime = 29.9);
  await until("the last picture to be white", async () => (await grey()) > 235);
  const far = asked.filter((one) => one.from > bytes.length / 2);
  expect(far.map((one) => one.status)).toEqual(far.map(() => 206));
  expect(far.length).toBeGreaterThan(0);
  await button(dialog, "One frame back (,)").click();
  await until("another place", async () => (await film.evaluate((video) => (video as HTMLVideoElement).currentTime)) < 29.9);
  await film.evaluate((video) => (video as HTMLVideoElement).play());
  await until("it to go on and begin again", async () => {
    const at = await film.evaluate((video) => (video as HTMLVideoElement).currentTime);
    return at > 0 && at < 15;
  });
});

longFlow("a picture is dragged out of the gallery onto the canvas, and is an input there", async (rig) => {
  const { server } = rig;
  await emptyGallery(server);
  publish(server, { id: "dragged", kind: "image", suffix: ".png", bytes: PICTURE, prompt: "to be dragged" });
  const page = await openWith(rig, NOTE);
  const gallery = await showPanel(page, "Gallery");
  const one = card(page, gallery, "to be dragged");
  await one.waitFor();
  const canvas = page.locator("main");
  const box = await until("the canvas", () => canvas.boundingBox());
  await one.dragTo(canvas, { targetPosition: { x: box.width / 2, y: box.height - 150 } });
  const document = await untilKept(server, "the node", ({ nodes }) => nodes.load_image !== undefined);
  const { sha256 } = document.nodes.load_image.inputs.file as { sha256: string };
  const content = Buffer.from(await (await server.fetch("GET", `/v1/files/${sha256}/content`)).arrayBuffer());
  expect(content.equals(PICTURE)).toBe(true);
  const [made, at] = [await node(page, "load_image").boundingBox(), { x: box.x + box.width / 2, y: box.y + box.height - 150 }];
  expect(Math.abs((made?.x ?? 0) + (made?.width ?? 0) / 2 - at.x)).toBeLessThan(20);
  expect(Math.abs((made?.y ?? 0) - at.y)).toBeLessThan(40);
});

longFlow("a picture in the clipboard is pasted as an input", async (rig) => {
  await rig.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await openWith(rig, NOTE);
  await page.evaluate(async (base64) => {
    const blob = new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type: "image/png" });
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
  }, PICTURE.toString("base64"));
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+v");
  const document = await untilKept(rig.server, "the node", ({ nodes }) => nodes.load_image !== undefined);
  expect(document.nodes.load_image.inputs.file.file).toMatch(/\.png$/);
  await button(node(page, "load_image"), /\.png/).first().waitFor();
});

longFlow("a workflow that is dropped as a file opens in a tab of its own", async (rig) => {
  const page = await openWith(rig, NOTE);
  const dropped = JSON.stringify({ ...workflowOf({ dropped: { type: "text", inputs: { value: "from a file" } } }), name: "dropped one" });
  const transfer = await page.evaluateHandle((text) => {
    const found = new DataTransfer();
    found.items.add(new File([text], "some.json", { type: "application/json" }));
    return found;
  }, dropped);
  for (const kind of ["dragover", "drop"]) await page.dispatchEvent("main", kind, { dataTransfer: transfer });
  await button(node(page, "dropped"), "value: from a file").waitFor();
  const tabs = page.getByRole("navigation", { name: "Open workflows" });
  await button(tabs, /^dropped one/).and(page.locator("[aria-current=page]")).waitFor();
  expect(await tabs.getByRole("listitem").count()).toBe(2);
});
