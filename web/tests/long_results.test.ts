/** Results, documents and looks, beyond the twelve flows of `make test`; in `make test-all` only. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

import { longFlow } from "./rig/flow";
import { card, emptyGallery, untilShown } from "./rig/outputs";
import { button, node, nodesShown, setValue, showPanel, untilState } from "./rig/page";
import { ROOT, type Server } from "./rig/server";
import { SERVER_PATIENCE_MS, until } from "./rig/until";

const TEMPLATE = readFileSync(join(ROOT, "workflows/mini_text_to_image.json"), "utf8");
const RED = "a large red circle on a blue background";

/** Run a shipped workflow on the server; the id of the picture it made. */
async function drawn(server: Server, inputs: Readonly<Record<string, unknown>>, workflow = "mini_text_to_image"): Promise<string> {
  const answer = await server.fetch("POST", "/v1/jobs", { workflow, inputs: { steps: 2, ...inputs } });
  const { id } = (await answer.json()) as { readonly id: string };
  const state = async (): Promise<string> => (await server.read(`/v1/jobs/${id}`))["state"];
  await until("the job to end", async () => !["queued", "running"].includes(await state()), SERVER_PATIENCE_MS);
  expect(await state()).toBe("done");
  return (await server.read(`/v1/outputs?job=${id}`))["outputs"][0].id;
}

/** Choose in the menu of a card. */
async function choose(page: Page, gallery: Locator, prompt: string, action: string): Promise<void> {
  await button(card(page, gallery, prompt), "More actions").click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

/** The colours of all pixels of a picture, decoded by the browser. */
function pixels(page: Page, picture: Buffer): Promise<{ readonly width: number; readonly height: number; readonly colours: readonly number[] }> {
  return page.evaluate(async (base64) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]));
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    return { width, height, colours: [...(context?.getImageData(0, 0, width, height).data ?? [])] };
  }, picture.toString("base64"));
}

/** What the browser saves when one does something. */
async function downloaded(page: Page, act: () => Promise<void>): Promise<Buffer> {
  const [file] = await Promise.all([page.waitForEvent("download"), act()]);
  const parts: Buffer[] = [];
  for await (const part of await file.createReadStream()) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** The kinds of the chunks of a PNG, in order. */
function chunks(png: Buffer): string[] {
  const kinds: string[] = [];
  for (let at = 8; at + 8 <= png.length; at += 12 + png.readUInt32BE(at)) kinds.push(png.toString("latin1", at + 4, at + 8));
  return kinds;
}

async function bytesAt(server: Server, path: string): Promise<Buffer> {
  return Buffer.from(await (await server.fetch("GET", path)).arrayBuffer());
}

/** Choose a command by its name in the palette. */
async function command(page: Page, words: string): Promise<void> {
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("What do you want to do?").fill(words);
  await page.keyboard.press("Enter");
}

async function saveAs(page: Page, name: string): Promise<void> {
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByLabel("Name").fill(name);
  await page.keyboard.press("Enter");
}

async function promptOf(server: Server, name: string): Promise<unknown> {
  return (await server.read(`/v1/workflows/${name}`))["nodes"]["tokens"]["inputs"]["prompt"];
}

longFlow("the gallery is filtered by words, workflow and star, and stars are kept by the server", async ({ open, server }) => {
  await emptyGallery(server);
  const ring = await drawn(server, { prompt: "a green ring" });
  await drawn(server, { prompt: "a blue square" });
  await drawn(server, { prompt: "a green cross" }, "mini_image_to_image");
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await untilShown(gallery, "a green cross", "a blue square", "a green ring");

  const search = gallery.getByRole("searchbox", { name: "Search the prompts" });
  await search.fill("green");
  await untilShown(gallery, "a green cross", "a green ring");
  await gallery.getByRole("combobox", { name: "Workflow" }).selectOption("mini_text_to_image");
  await untilShown(gallery, "a green ring");
  await button(card(page, gallery, "a green ring"), "Give a star").click();
  await until("the star", async () => (await server.read(`/v1/outputs/${ring}`))["starred"]);
  await search.fill("nothing of the kind");
  await gallery.getByText("No result fits these filters.").waitFor();
  await button(gallery, "Show all").click();
  await untilShown(gallery, "a green cross", "a blue square", "a green ring");

  await button(gallery, "Only with a star").click();
  await untilShown(gallery, "a green ring");
  await page.reload();
  const again = await showPanel(page, "Gallery");
  await button(again, "Only with a star").click();
  await untilShown(again, "a green ring");
  await button(again, "Take the star away").click();
  await until("the star to be gone", async () => !(await server.read(`/v1/outputs/${ring}`))["starred"]);
});

longFlow("a result is deleted for good once that is confirmed, and not before", async ({ open, server }) => {
  await emptyGallery(server);
  const kept = await drawn(server, { prompt: "to be kept" });
  await drawn(server, { prompt: "to be deleted" });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await untilShown(gallery, "to be deleted", "to be kept");
  await choose(page, gallery, "to be kept", "Delete");
  await button(page.getByRole("dialog", { name: "Delete this result?" }), "Keep it").click();
  await choose(page, gallery, "to be deleted", "Delete");
  await button(page.getByRole("dialog", { name: "Delete this result?" }), "Delete").click();
  await untilShown(gallery, "to be kept");
  expect((await server.read("/v1/outputs"))["outputs"].map((one: { id: string }) => one.id)).toEqual([kept]);
});

longFlow("a picture is downloaded with its notes, and without them with the same pixels", async ({ open, server }) => {
  await emptyGallery(server);
  const id = await drawn(server, { prompt: "a secret" });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  const download = (action: string): Promise<Buffer> => downloaded(page, () => choose(page, gallery, "a secret", action));
  const whole = await download("Download");
  expect(whole.equals(await bytesAt(server, `/v1/outputs/${id}/file`))).toBe(true);
  expect(chunks(whole).some((kind) => ["tEXt", "zTXt", "iTXt"].includes(kind))).toBe(true);
  const bare = await download("Download without metadata");
  expect(chunks(bare).filter((kind) => ["tEXt", "zTXt", "iTXt", "eXIf"].includes(kind))).toEqual([]);
  expect(await pixels(page, bare)).toEqual(await pixels(page, whole));
});

longFlow("the large view zooms, says what the picture was made with, and goes on to the older one", async ({ open, server }) => {
  await emptyGallery(server);
  await drawn(server, { prompt: "the older", seed: 11 });
  await drawn(server, { prompt: "the newer", seed: 12 });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await button(gallery, "Show large: the newer").click();
  const newer = page.getByRole("dialog", { name: "the newer" });
  const facts = newer.getByRole("complementary", { name: "What it was made with" });
  const fact = async (name: string): Promise<string> =>
    (await facts.getByRole("term").filter({ hasText: new RegExp(`^${name}$`, "i") }).locator("xpath=following-sibling::dd").textContent()) ?? "";
  await facts.getByText("save", { exact: true }).waitFor();
  expect(await Promise.all(["Seed", "Size", "Model", "steps", "Workflow"].map(fact))).toEqual(["12", "64 × 64", "mini", "2", "mini_text_to_image"]);

  const zoom = newer.getByRole("group", { name: "Zoom" });
  const picture = newer.getByRole("img", { name: "the newer" });
  const untilWide = (width: number): Promise<unknown> =>
    until(`a width of ${width}`, async () => Math.abs(((await picture.boundingBox())?.width ?? 0) - width) < 1);
  await button(zoom, "100 %").click();
  await untilWide(64);
  await button(zoom, "Zoom in").click();
  await untilWide(80);
  expect(await zoom.getByRole("status", { name: "Zoom" }).textContent()).toBe("125 %");
  await picture.hover();
  await page.mouse.wheel(0, -400);
  await until("the wheel to zoom", async () => ((await picture.boundingBox())?.width ?? 0) > 120);
  await button(zoom, "100 %").click();
  await untilWide(64);
  await button(zoom, "Fit").click();
  await until("it to fit", async () => ((await picture.boundingBox())?.width ?? 0) > 400);

  await page.keyboard.press("ArrowRight");
  const older = page.getByRole("dialog", { name: "the older" });
  await older.getByRole("img", { name: "the older" }).waitFor();
  await older.getByRole("complementary", { name: "What it was made with" }).getByText("11", { exact: true }).waitFor();
});

longFlow("two results are compared side by side and by slider, with what differs in their inputs", async ({ open, server }) => {
  await emptyGallery(server);
  await drawn(server, { prompt: RED, seed: 21 });
  await drawn(server, { prompt: "a small green ring on a white background", seed: 22 });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await button(gallery, /^Show large: a small green ring/).click();
  await button(page.getByRole("dialog"), "Compare with the one before").click();
  const compare = page.getByRole("dialog", { name: "Compare" });
  await compare.getByRole("rowheader").first().waitFor();
  const rows = await compare.getByRole("row").evaluateAll((all) => all.slice(1).map((row) => [...row.children].map((cell) => cell.textContent)));
  expect(rows.sort()).toEqual([["denoise.seed", "21", "22"], ["tokens.prompt", RED, "a small green ring on a white background"]]);

  const [a, b] = [compare.getByRole("img", { name: "A · seed 21" }), compare.getByRole("img", { name: "B · seed 22" })];
  expect(await compare.getByRole("figure").count()).toBe(2);
  const [left, right] = [await a.boundingBox(), await b.boundingBox()];
  expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThanOrEqual(right?.x ?? 0);
  await button(compare, "Swap").click();
  await compare.getByRole("img", { name: "A · seed 22" }).waitFor();
  await button(compare, "Swap").click();

  await button(compare, "Slider").click();
  const slider = compare.getByRole("slider", { name: "Slider" });
  await until("one to lie over the other", async () => JSON.stringify(await a.boundingBox()) === JSON.stringify(await b.boundingBox()));
  const looks = async (share: string): Promise<Buffer> => {
    await slider.fill(share);
    await until("the slider to cut", () => a.evaluate((image, wanted) => getComputedStyle(image).clipPath.includes(`${100 - Number(wanted)}%`), share));
    const box = await b.boundingBox();
    if (box === null) throw new Error("B is not seen");
    return page.screenshot({ clip: { x: box.x, y: box.y + box.height * 0.1, width: box.width, height: 4 } });
  };
  const [allB, half] = [await looks("0"), await looks("50")];
  const colour = async (shot: Buffer, part: number): Promise<readonly number[]> => {
    const { width, colours } = await pixels(page, shot);
    const at = 4 * Math.floor(width * part);
    return colours.slice(at, at + 3);
  };
  expect(await colour(half, 0.9)).toEqual(await colour(allB, 0.9));
  expect(await colour(half, 0.1)).not.toEqual(await colour(allB, 0.1));
});

longFlow("the JSON of a whole workflow that is pasted opens in a tab of its own", async ({ open, context, server }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await open();
  await nodesShown(page);
  await page.evaluate((text) => navigator.clipboard.writeText(text), TEMPLATE.replace(RED, "from the clipboard").replace('"mini_text_to_image"', '"pasted one"'));
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+v");
  await node(page, "tokens").getByRole("button", { name: "prompt: from the clipboard" }).waitFor();
  const tabs = page.getByRole("navigation", { name: "Open workflows" }).getByRole("listitem");
  await until("a second tab", async () => (await tabs.count()) === 2);
  const draft = await until("its draft", async () => (await server.drafts()).find((one) => one.document.name === "pasted one"));
  expect(Object.keys(draft.document.nodes).sort()).toEqual(Object.keys((JSON.parse(TEMPLATE) as { nodes: object }).nodes).sort());
});

longFlow("a mask painted on a picture of the gallery is uploaded, and wired to the only port that takes one", async ({ open, server }) => {
  await emptyGallery(server);
  await drawn(server, { prompt: "to be masked" });
  const document = {
    $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0",
    nodes: { show: { type: "image_from_mask", inputs: {} }, save: { type: "save_image", inputs: { image: { link: "show.image" }, name: "masked" } } },
    view: { nodes: { show: { x: 400, y: 0 }, save: { x: 700, y: 0 } } },
  };
  await server.fetch("PUT", "/v1/drafts/0c5c9a52-6a43-4f6e-9a55-8d6a3c9b1f11", { document, workflow: null, base: null }, { "If-None-Match": "*" });
  const page = await open();
  await nodesShown(page);
  const gallery = await showPanel(page, "Gallery");
  await choose(page, gallery, "to be masked", "Paint a mask");
  const dialog = page.getByRole("dialog", { name: /^Mask for / });
  const use = button(dialog, "Use in the workflow");
  expect(await use.isDisabled()).toBe(true);
  const picture = dialog.getByRole("img", { name: /\.png$/ });
  const box = await until("the picture", async () => {
    const found = await picture.boundingBox();
    return found !== null && found.width > 100 ? found : null;
  });
  const at = (part: number): number => box.x + box.width * part;
  await page.mouse.move(at(0.3), box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(at(0.7), box.y + box.height / 2, { steps: 8 });
  await page.mouse.up();
  await use.click();
  await dialog.waitFor({ state: "detached" });

  const loads = async (): Promise<{ file: string; sha256: string } | undefined> =>
    (await server.nodes())["load_mask"]?.inputs?.["file"] as { file: string; sha256: string } | undefined;
  const file = await until("the node that opens the mask", loads);
  expect(file.file).toMatch(/-mask\.png$/);
  const { width, height, colours } = await pixels(page, await bytesAt(server, `/v1/files/${file.sha256}/content`));
  expect([width, height]).toEqual([64, 64]);
  const white = (x: number, y: number): number => colours[4 * (y * width + x)] ?? -1;
  expect([white(32, 32), white(22, 32), white(32, 4), white(4, 32)]).toEqual([255, 255, 0, 0]);

  expect((await server.nodes())["show"]?.inputs).toEqual({ mask: { link: "load_mask.mask" } });
  await button(page, "Run").click();
  await untilState(page, "save", "done");
  const [made] = (await server.read("/v1/outputs"))["outputs"] as { id: string }[];
  const saved = await pixels(page, await bytesAt(server, `/v1/outputs/${made?.id}/file`));
  expect(saved.colours).toEqual(colours);
});

longFlow("an untitled workflow is kept within a second or so, and is there after the browser was closed", async ({ open, elsewhere, server }) => {
  const page = await open();
  await nodesShown(page);
  await button(page, "New workflow").click();
  await page.getByText("Nothing here yet").waitFor();
  await page.locator("#canvas").focus();
  await page.keyboard.press("Tab");
  await page.getByRole("combobox", { name: "Add a node" }).fill("tokenize");
  await page.getByRole("option", { selected: true }).getByRole("code").getByText("tokenize", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await node(page, "tokenize").waitFor();
  await setValue(page, "tokenize", "prompt", "never saved");
  const isKept = async (): Promise<boolean> => (await server.drafts()).some((one) => one.document.nodes["tokenize"]?.inputs?.["prompt"] === "never saved");
  await until("the draft", isKept, 5_000);
  await page.context().close();

  const again = await elsewhere();
  await node(again, "tokenize").getByRole("button", { name: "prompt: never saved" }).waitFor();
  const saved = (await server.read("/v1/workflows"))["workflows"] as { source: string }[];
  expect(saved.filter((one) => one.source !== "template")).toEqual([]);
});

longFlow("saving over what another program has saved asks, and keeping mine makes theirs a version", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await saveAs(page, "shared");
  await page.getByText("Saved as shared.").waitFor();
  await setValue(page, "tokens", "prompt", "mine");
  await until("my draft", async () => (await server.nodes())["tokens"]?.inputs?.["prompt"] === "mine");
  const before = await server.fetch("GET", "/v1/workflows/shared");
  const theirs = JSON.parse((await before.text()).replace(RED, "theirs")) as unknown;
  const put = await server.fetch("PUT", "/v1/workflows/shared", theirs, { "If-Match": before.headers.get("etag") ?? "" });
  expect(put.status).toBeLessThan(300);
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: /^shared: two contents/ });
  await dialog.waitFor();
  expect(await promptOf(server, "shared")).toBe("theirs");
  await button(dialog, /^Keep mine/).click();
  await until("mine to be saved", async () => (await promptOf(server, "shared")) === "mine");

  await dialog.waitFor({ state: "detached" });
  await command(page, "versions");
  const versions = page.getByRole("dialog", { name: "Versions of shared" });
  await button(versions.getByRole("listitem").filter({ hasText: "Version 2" }), "Compare with what is open").click();
  await versions.getByRole("list", { name: "Differences" }).getByText("theirs", { exact: true }).waitFor();
});

longFlow("saving under a name that is taken asks before anything is replaced", async ({ open, server }) => {
  await server.fetch("PUT", "/v1/workflows/taken", JSON.parse(TEMPLATE.replace(RED, "was there")), { "If-None-Match": "*" });
  const page = await open();
  await nodesShown(page);
  await saveAs(page, "taken");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("alert").waitFor();
  expect(await promptOf(server, "taken")).toBe("was there");
  await button(dialog, "Replace it").click();
  await page.getByText("Saved as taken.").waitFor();
  expect(await promptOf(server, "taken")).toBe(RED);
});

longFlow("a workflow is imported from a file and exported with the bytes that the program itself writes", async ({ open, server }) => {
  const page = await open();
  page.on("filechooser", () => undefined); // from now on choosers come to us: asking only at the key may be too late
  await nodesShown(page);
  const exported = async (): Promise<string> => {
    await page.locator("#canvas").focus();
    return (await downloaded(page, () => page.keyboard.press("Control+e"))).toString("utf8");
  };
  const imported = async (text: string, shows: string): Promise<void> => {
    await page.locator("#canvas").focus();
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Control+o")]);
    await chooser.setFiles({ name: "from elsewhere.json", mimeType: "application/json", buffer: Buffer.from(text) });
    await node(page, "tokens").getByRole("button", { name: `prompt: ${shows}` }).waitFor();
  };
  const wanted = TEMPLATE.replace(RED, "größer, ☃ und \\\"laut\\\"");
  await imported(JSON.stringify(JSON.parse(wanted)), 'größer, ☃ und "laut"'); // written otherwise: all in one line
  const first = await exported();
  expect(first).toBe(wanted);
  await imported(first.replace("größer, ☃", "noch"), 'noch und "laut"');
  expect(await exported()).toBe(wanted.replace("größer, ☃", "noch"));
  const kept = async (): Promise<unknown[]> => (await server.drafts()).map((one) => one.document.nodes["tokens"]?.inputs?.["prompt"]);
  await until("both to be kept", async () => (await kept()).filter((one) => String(one).endsWith('"laut"')).length === 2);
});

longFlow("a template is chosen by its picture and opens as a workflow of one's own", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await command(page, "templates");
  const templates = page.getByRole("dialog").getByRole("region", { name: "Templates" });
  const chosen = templates.getByRole("button", { name: /^mini_image_to_image/ });
  await until("its picture to be drawn", () => chosen.locator("canvas").evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const data = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
    return new Set(data.filter((_, at) => at % 4 < 3)).size > 2;
  }));
  await chosen.click();
  await node(page, "picture").waitFor();
  await setValue(page, "tokens", "prompt", "of mine");
  const draft = await until("the draft", async () => (await server.drafts()).find((one) => one.document.nodes["tokens"]?.inputs?.["prompt"] === "of mine"));
  expect(draft.document.nodes).toHaveProperty("picture");
  expect(await promptOf(server, "mini_image_to_image")).not.toBe("of mine");
});

longFlow("the parameter panel fills in the workflow, runs it and shows the result", async ({ open, server }) => {
  await emptyGallery(server);
  const page = await open();
  await nodesShown(page);
  const panel = await showPanel(page, "Parameters");
  const fill = async (label: string, port_: string, value: string): Promise<void> => {
    const field = panel.getByRole("group", { name: label, exact: true });
    await field.locator("[data-widget]").first().click();
    await field.locator("input, textarea").last().fill(value);
    await page.keyboard.press("Tab");
    const [id, name] = port_.split(".");
    await until(port_, async () => String((await server.nodes())[id ?? ""]?.inputs?.[name ?? ""]) === value);
  };
  await fill("Prompt", "tokens.prompt", "from the panel");
  await fill("Steps", "denoise.steps", "2");
  await node(page, "tokens").getByRole("button", { name: "prompt: from the panel" }).waitFor();
  await button(panel, "Run").click();
  await panel.getByRole("figure").getByRole("img").waitFor();
  const [made] = (await server.read("/v1/outputs"))["outputs"] as { id: string; prompt: string }[];
  expect(made?.prompt).toBe("from the panel");
  expect((await server.read(`/v1/outputs/${made?.id}`))["settings"]["steps"]).toBe(2);
});

longFlow("the differences between a saved version and what is open are listed", async ({ open }) => {
  const page = await open();
  await nodesShown(page);
  await saveAs(page, "compared");
  await page.getByText("Saved as compared.").waitFor();
  await setValue(page, "tokens", "prompt", "changed since");
  await command(page, "versions");
  const versions = page.getByRole("dialog", { name: "Versions of compared" });
  await button(versions, "Compare with what is open").click();
  const found = versions.getByRole("list", { name: "Differences" }).getByRole("listitem");
  await found.first().waitFor();
  expect(await found.allTextContents()).toEqual([expect.stringMatching(new RegExp(`^changed.*tokens.*prompt.*Version 1${RED}Yourschanged since$`))]);
});

/** Whether a run's page moves anything by itself: the message that comes up is the one thing that would. */
async function moving(page: Page): Promise<number> {
  await nodesShown(page);
  const panel = await showPanel(page, "Settings");
  await panel.getByRole("switch", { name: "Snap to the grid" }).click();
  return page.evaluate(() => document.getAnimations().length);
}

longFlow("nothing moves by itself where reduced motion is asked for, and something does where it is not", async ({ open, elsewhere }) => {
  expect(await moving(await open())).toBe(0);
  expect(await moving(await elsewhere({ reducedMotion: "no-preference" }))).toBeGreaterThan(0);
});

longFlow("the theme that is chosen is kept by the server for other browsers, and System follows theirs", async ({ open, elsewhere, server }) => {
  const [light, dark] = ["rgb(243, 243, 246)", "rgb(22, 23, 27)"];
  const untilGround = (page: Page, colour: string): Promise<unknown> =>
    until(`the ground to be ${colour}`, () => page.evaluate((wanted) => getComputedStyle(document.body).backgroundColor === wanted, colour));
  const page = await open();
  await nodesShown(page);
  await untilGround(page, light);
  const theme = (await showPanel(page, "Settings")).getByRole("group", { name: "Theme" });
  const pick = async (name: string): Promise<void> => {
    await theme.getByRole("radio", { name }).check();
    await until("the server to keep it", async () => JSON.stringify(await server.read("/v1/settings/page")).includes(`"theme":"${name.toLowerCase()}"`));
  };
  await pick("Dark");
  await untilGround(page, dark);
  const other = await elsewhere({ colorScheme: "light" });
  await nodesShown(other);
  await untilGround(other, dark);
  await pick("Light");
  await untilGround(page, light);
  const third = await elsewhere({ colorScheme: "dark" });
  await nodesShown(third);
  await untilGround(third, light);
  await pick("System");
  await third.reload();
  await nodesShown(third);
  await untilGround(third, dark);
});
