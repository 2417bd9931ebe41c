/** Every way of editing that the flows of `make test` leave out, one by one; in `make test-all` only. */

import type { CDPSession, Locator, Page } from "playwright-core";
import { expect } from "vitest";

import { kept, openWith, untilKept, workflowOf } from "./rig/document";
import { type Rig, longFlow } from "./rig/flow";
import { boxOf, button, drag, middleOf, node, port, showPanel } from "./rig/page";
import type { Answer } from "./rig/server";
import { until } from "./rig/until";

type Point = { readonly x: number; readonly y: number };
type Places = Readonly<Record<string, Point>>;

const EMPTY = { type: "empty_latents", inputs: { width: 64, height: 64 } };
const DECODE = { type: "decode", inputs: { latents: { link: "latents.latents" } } };
const CHAIN = { latents: EMPTY, decode: DECODE, save: { type: "save_image", inputs: { image: { link: "decode.image" }, name: "x" } } };
const ROW: Places = { latents: { x: 0, y: 0 }, decode: { x: 400, y: 0 }, save: { x: 800, y: 0 } };

/** The page on a document of these nodes; without places it is one that was written by hand. */
function begin(rig: Rig, nodes: Answer, places?: Places): Promise<Page> {
  return openWith(rig, workflowOf(nodes, places && { view: { nodes: places } }));
}

/** The middle of a wire that is led by no points: halfway between its ends. */
async function middleOfWire(page: Page, from: string, to: string): Promise<Point> {
  const [source = "", output = ""] = from.split(".");
  const [target = "", input = ""] = to.split(".");
  const [start, end] = [await middleOf(port(page, source, output, "output")), await middleOf(port(page, target, input, "input"))];
  return { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
}

/** A place on the ground, below the node. */
async function under(page: Page, id: string, by = 90): Promise<Point> {
  const box = await boxOf(node(page, id));
  return { x: box.x + box.width / 2, y: box.y + box.height + by };
}

async function select(page: Page, ...ids: readonly string[]): Promise<void> {
  for (const [at, id] of ids.entries()) await node(page, id).locator("header").click(at === 0 ? {} : { modifiers: ["Shift"] });
}

/** Do what the command palette lists under these words. */
async function command(page: Page, title: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Commands" }).fill(title);
  await page.getByRole("option", { selected: true }).getByText(title, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
}

function search(page: Page): Locator {
  return page.getByRole("combobox", { name: "Add a node" });
}

async function offered(page: Page): Promise<string[]> {
  return page.getByRole("option").getByRole("code").allTextContents();
}

/** Choose a node type in the list that is open. */
async function choose(page: Page, type: string): Promise<void> {
  await search(page).fill(type);
  await page.getByRole("option", { selected: true }).getByRole("code").getByText(type, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
}

longFlow("a double click on the ground adds a node there", async (rig) => {
  const page = await begin(rig, { latents: EMPTY }, { latents: { x: 0, y: 0 } });
  const at = await under(page, "latents");
  await page.mouse.dblclick(at.x, at.y);
  await choose(page, "load_image");
  await untilKept(rig.server, "the node", (document) => document.nodes.load_image?.type === "load_image");
  const box = await boxOf(node(page, "load_image"));
  expect(Math.hypot(box.x - at.x, box.y - at.y)).toBeLessThan(4);
});

longFlow("a wire dropped on the ground lists what fits, and what is chosen is wired", async (rig) => {
  const page = await begin(rig, { latents: EMPTY }, { latents: { x: 0, y: 0 } });
  await drag(page, port(page, "latents", "latents", "output"), await under(page, "latents"));
  await page.getByText("Only what fits").waitFor();
  await search(page).fill("load_image");
  await page.getByText("No node type takes this port as it is.").waitFor();
  await search(page).fill("");
  expect(await offered(page)).toEqual(expect.arrayContaining(["decode", "denoise"]));
  expect(await offered(page)).not.toContain("tokenize");
  await choose(page, "decode");
  const { nodes } = await untilKept(rig.server, "the node", (document) => document.nodes.decode !== undefined);
  expect(nodes.decode.inputs.latents).toEqual({ link: "latents.latents" });
});

longFlow("types are found by their ports, in categories, and those used last come first", async (rig) => {
  const page = await begin(rig, { latents: EMPTY }, { latents: { x: 0, y: 0 } });
  await select(page, "latents");
  await page.keyboard.press("Shift+A");
  await search(page).fill("curve");
  await page.getByRole("option").filter({ has: page.getByRole("code").getByText("mag_cache", { exact: true }) }).waitFor();
  await choose(page, "save_curve");
  await untilKept(rig.server, "the node", (document) => document.nodes.save_curve !== undefined);
  await page.keyboard.press("Shift+A");
  await page.getByText("Used last", { exact: true }).waitFor();
  const chosen = page.getByRole("option", { selected: true }).getByRole("code");
  expect(await chosen.textContent()).toBe("save_curve");
  const place = (): Promise<string | null> => page.getByRole("option", { selected: true }).getAttribute("aria-posinset");
  const before = Number(await place());
  await page.keyboard.press("Alt+ArrowDown");
  await until("the next category", async () => Number(await place()) > before);
  await page.keyboard.press("Escape");
  await search(page).waitFor({ state: "detached" });
});

longFlow("a wire that is refused says the validator's sentence, and offers what converts", async (rig) => {
  const { server } = rig;
  const nodes = { picture: { type: "load_image", inputs: {} }, grid: { type: "image_grid", inputs: {} } };
  const page = await begin(rig, nodes, { picture: { x: 0, y: 0 }, grid: { x: 700, y: 0 } });
  const wired = { ...nodes, grid: { type: "image_grid", inputs: { images: { link: "picture.image" } } } };
  const answer = await server.fetch("POST", "/v1/workflows/validate", { workflow: { format: "latentgraph/workflow", version: "1.0", nodes: wired } });
  const said = JSON.stringify(await answer.json());
  await drag(page, port(page, "picture", "image", "output"), port(page, "grid", "images", "input"));
  const insert = button(page, "Insert Make list");
  await insert.waitFor();
  const sentence = /grid\.images is linked to .* Link a list of it\./.exec((await page.getByRole("status").filter({ has: insert }).textContent()) ?? "")?.[0];
  expect(said).toContain(sentence ?? "a sentence");
  expect((await kept(server)).nodes.grid.inputs).toEqual({});
  await insert.click();
  const after = await untilKept(server, "the converter", (document) => document.nodes.make_list !== undefined);
  expect(after.nodes.make_list.inputs).toEqual({ first: { link: "picture.image" } });
  expect(after.nodes.grid.inputs.images).toEqual({ link: "make_list.values" });
});

longFlow("a loose node that is dropped on a wire goes into it", async (rig) => {
  const page = await begin(rig, { ...CHAIN, keep: { type: "disk_cache", inputs: {} } }, { ...ROW, keep: { x: 0, y: 400 } });
  const [whole, head] = [await middleOf(node(page, "keep")), await middleOf(node(page, "keep").locator("header"))];
  const wire = await middleOfWire(page, "latents.latents", "decode.latents");
  await page.mouse.move(head.x, head.y);
  await page.mouse.down();
  await page.mouse.move(head.x + 4, head.y); // a drag begins where the press has become one
  await page.mouse.move(wire.x + head.x + 4 - whole.x, wire.y + head.y - whole.y, { steps: 6 });
  await page.mouse.up();
  const { nodes } = await untilKept(rig.server, "the node in the wire", (document) => document.nodes.keep.inputs.value !== undefined);
  expect(nodes.keep.inputs.value).toEqual({ link: "latents.latents" });
  expect(nodes.decode.inputs.latents).toEqual({ link: "keep.value" });
});

longFlow("a wire is led through a point that is drawn elsewhere and taken out, and no node knows", async (rig) => {
  const { server } = rig;
  const page = await begin(rig, CHAIN, ROW);
  const points = (document: Answer): Answer => document.view?.wires?.["decode.latents"]?.points;
  const at = await middleOfWire(page, "latents.latents", "decode.latents");
  await page.mouse.dblclick(at.x, at.y);
  const [[, y]] = points(await untilKept(server, "the point", (document) => points(document)?.length === 1));
  const point = page.locator('[data-wire="decode.latents"] [data-point="0"]');
  await drag(page, point, { x: at.x, y: at.y + 120 });
  const moved = await untilKept(server, "the point elsewhere", (document) => points(document)[0][1] > y + 60);
  expect(moved.nodes).toEqual(CHAIN);
  await point.dblclick();
  await untilKept(server, "no point", (document) => points(document) === undefined || points(document).length === 0);
});

longFlow("a frame has a title and a colour, and carries its nodes", async (rig) => {
  const { server } = rig;
  const page = await begin(rig, CHAIN, ROW);
  await select(page, "latents", "decode");
  await page.keyboard.press("Control+g");
  await page.getByRole("dialog").getByLabel("Title").fill("Begin here");
  await page.keyboard.press("Enter");
  await untilKept(server, "its title", (document) => document.view.frames?.[0]?.title === "Begin here");
  await page.keyboard.press("c");
  await page.getByRole("menu").getByText("Green", { exact: true }).click();
  const before = await untilKept(server, "its colour", (document) => document.view.frames[0].color === "green");
  const title = page.locator("[data-frame-title]").filter({ hasText: "Begin here" });
  const from = await boxOf(title);
  await page.mouse.move(from.x + 30, from.y + 12);
  await page.mouse.down();
  await page.mouse.move(from.x + 60, from.y + 100, { steps: 4 });
  await page.mouse.move(from.x + 90, from.y + 200, { steps: 4 });
  await page.mouse.up();
  const after = await untilKept(server, "the frame elsewhere", (document) => document.view.frames[0].y > before.view.frames[0].y + 50);
  const way = (one: (document: Answer) => Point): Point => ({ x: one(after).x - one(before).x, y: one(after).y - one(before).y });
  const ofFrame = way((document) => document.view.frames[0]);
  expect(way((document) => document.view.nodes.latents)).toEqual(ofFrame);
  expect(way((document) => document.view.nodes.decode)).toEqual(ofFrame);
  expect(after.view.nodes.save).toEqual(before.view.nodes.save);
});

longFlow("a bypassed node says so, and is not when it is asked again", async (rig) => {
  const page = await begin(rig, CHAIN, ROW);
  await select(page, "decode");
  await page.keyboard.press("Control+b");
  await node(page, "decode").getByText("bypassed", { exact: true }).waitFor();
  await untilKept(rig.server, "it to be bypassed", (document) => document.nodes.decode.state === "bypassed");
  await page.keyboard.press("Control+b");
  await untilKept(rig.server, "it to be active", (document) => document.nodes.decode.state === undefined);
  expect(await node(page, "decode").getByText("bypassed", { exact: true }).count()).toBe(0);
});

longFlow("nodes are pasted with their links or without", async (rig) => {
  await rig.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await begin(rig, CHAIN, ROW);
  await select(page, "decode");
  await page.keyboard.press("Control+c");
  await until("the clipboard", async () => (await page.evaluate(() => navigator.clipboard.readText())).includes("decode"));
  const links = (document: Answer): Answer[] => Object.entries<Answer>(document.nodes).flatMap(([id, one]) => (id !== "decode" && one.type === "decode" ? [one.inputs.latents] : []));
  await page.keyboard.press("Control+v");
  expect(links(await untilKept(rig.server, "a copy", (document) => links(document).length === 1))).toEqual([undefined]);
  await page.keyboard.press("Control+Shift+v");
  const all = links(await untilKept(rig.server, "a copy with links", (document) => links(document).length === 2));
  expect(all.filter((link) => link !== undefined)).toEqual([{ link: "latents.latents" }]);
});

longFlow("a marquee selects, and what is selected is aligned and distributed", async (rig) => {
  const { server } = rig;
  const page = await begin(rig, CHAIN, { latents: { x: 0, y: 60 }, decode: { x: 320, y: 20 }, save: { x: 800, y: 90 } });
  const [first, last] = [await boxOf(node(page, "latents")), await boxOf(node(page, "save"))];
  await page.mouse.move(first.x - 20, first.y - 90);
  await page.mouse.down();
  await page.mouse.move(last.x, last.y + 10, { steps: 4 });
  await page.mouse.move(last.x + 20, last.y + 30, { steps: 4 });
  await page.mouse.up();
  await until("three to be selected", async () => (await page.locator(".react-flow__node.selected").count()) === 3);
  await command(page, "Align upper edges");
  const { view } = await untilKept(server, "one edge", (document) => new Set(["latents", "decode", "save"].map((id) => document.view.nodes[id].y)).size === 1);
  expect(view.nodes.save.y).toBe(20);
  const gaps = async (): Promise<number[]> => {
    const [one, two, three] = [await boxOf(node(page, "latents")), await boxOf(node(page, "decode")), await boxOf(node(page, "save"))];
    return [two.x - one.x - one.width, three.x - two.x - two.width];
  };
  const [left = 0, right = 0] = await gaps();
  expect(Math.abs(left - right)).toBeGreaterThan(20);
  await command(page, "Distribute from left to right");
  await untilKept(server, "decode elsewhere", (document) => document.view.nodes.decode.x !== 320);
  const [one = 0, two = 0] = await gaps();
  expect(Math.abs(one - two)).toBeLessThan(3);
});

/** Each node right of those before it, and none upon another. */
async function expectLaidOut(page: Page): Promise<void> {
  const boxes = await Promise.all(["latents", "decode", "save"].map((id) => boxOf(node(page, id))));
  for (const [at, box] of boxes.entries()) {
    const before = boxes[at - 1];
    if (before !== undefined) expect(box.x).toBeGreaterThan(before.x + before.width);
  }
}

longFlow("the layout puts every node after what it takes, in one step", async (rig) => {
  const { server } = rig;
  const page = await begin(rig, CHAIN, { latents: { x: 500, y: 0 }, decode: { x: 250, y: 40 }, save: { x: 0, y: 80 } });
  await select(page, "latents");
  await page.keyboard.press("Control+Shift+f");
  const { view } = await untilKept(server, "the layout", ({ view: { nodes } }) => nodes.latents.x < nodes.decode.x && nodes.decode.x < nodes.save.x);
  expect(Object.keys(view.nodes).sort()).toEqual(["decode", "latents", "save"]);
  await until("it to be seen", async () => (await boxOf(node(page, "latents"))).x < (await boxOf(node(page, "save"))).x);
  await expectLaidOut(page);
  await page.keyboard.press("Control+z");
  await untilKept(server, "the places before", ({ view: { nodes } }) => nodes.latents.x === 500 && nodes.save.x === 0);
});

longFlow("a collapsed node is its title, and its wires stay", async (rig) => {
  const page = await begin(rig, CHAIN, ROW);
  const tall = await boxOf(node(page, "decode"));
  await button(node(page, "decode"), "Collapse").click();
  const { nodes } = await untilKept(rig.server, "it to be collapsed", (document) => document.view.nodes.decode.collapsed === true);
  expect(nodes).toEqual(CHAIN);
  expect((await boxOf(node(page, "decode"))).height).toBeLessThan(tall.height / 2);
  expect(await page.locator('[data-wire="decode.latents"]').count()).toBe(1);
  await button(node(page, "decode"), "Expand").click();
  await port(page, "decode", "latents", "input").waitFor();
  await untilKept(rig.server, "it to be whole", (document) => document.view.nodes.decode.collapsed !== true);
});

longFlow("a note is put down, written and read again", async (rig) => {
  const page = await begin(rig, { latents: EMPTY }, { latents: { x: 0, y: 0 } });
  await select(page, "latents");
  const at = await under(page, "latents");
  await page.mouse.move(at.x, at.y);
  await page.keyboard.press("n");
  await page.getByRole("textbox", { name: "Text of the note" }).fill("Ask Mara about the sizes");
  await page.keyboard.press("Escape");
  await button(page, "Ask Mara about the sizes").waitFor();
  await untilKept(rig.server, "the note", (document) => document.view.notes?.[0]?.text === "Ask Mara about the sizes");
  await page.reload();
  await button(page, "Ask Mara about the sizes").waitFor();
});

longFlow("commands are found by what they are called, and keys by what they do", async (rig) => {
  const page = await begin(rig, CHAIN, ROW);
  await select(page, "decode");
  await command(page, "Mute");
  await untilKept(rig.server, "it to be muted", (document) => document.nodes.decode.state === "muted");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Commands" }).fill("bypass");
  expect(await page.getByRole("option", { selected: true }).textContent()).toContain("Ctrl+B");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Commands" }).waitFor({ state: "detached" });
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys and mouse" });
  await dialog.getByRole("searchbox").fill("ctrl+b");
  await until("those with these keys", async () => (await dialog.getByRole("term").allTextContents()).sort().join() === "Bypass,Delete and close the gap");
});

longFlow("the selection and everything are brought into view, and the overview leads elsewhere", async (rig) => {
  const page = await begin(rig, CHAIN, { latents: { x: 0, y: 0 }, decode: { x: 700, y: 300 }, save: { x: 1500, y: 900 } });
  const canvas = await boxOf(page.locator("#canvas"));
  const isSeen = async (id: string): Promise<boolean> => {
    const box = await node(page, id).boundingBox();
    return box !== null && box.x >= canvas.x && box.y >= canvas.y && box.x + box.width <= canvas.x + canvas.width && box.y + box.height <= canvas.y + canvas.height;
  };
  const width = (await boxOf(node(page, "latents"))).width;
  await select(page, "latents");
  await page.keyboard.press(".");
  await until("the selection large", async () => (await boxOf(node(page, "latents"))).width > width * 1.2 && (await isSeen("latents")));
  expect(await isSeen("save")).toBe(false);
  const map = page.getByRole("img", { name: "Overview: press to go there" });
  const box = await boxOf(map);
  await map.click({ position: { x: box.width * 0.82, y: box.height * 0.82 } });
  await until("what the overview shows there", () => isSeen("save"));
  expect(await isSeen("latents")).toBe(false);
  await node(page, "save").locator("header").click();
  await page.keyboard.press("Shift+M");
  await map.waitFor({ state: "detached" });
  await page.keyboard.press("Shift+M");
  await map.waitFor();
  await page.keyboard.press("Home");
  await until("everything", async () => (await isSeen("latents")) && (await isSeen("decode")) && (await isSeen("save")));
});

async function touch(hand: CDPSession, type: "touchStart" | "touchMove" | "touchEnd", ...points: readonly Point[]): Promise<void> {
  await hand.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(({ x, y }, id) => ({ x, y, id })) });
}

longFlow("touch pans, zooms and opens menus", async (rig) => {
  const page = await begin(rig, { latents: EMPTY }, { latents: { x: 0, y: 0 } });
  const hand = await rig.context.newCDPSession(page);
  const at = await under(page, "latents", 120);
  const first = await boxOf(node(page, "latents"));
  await touch(hand, "touchStart", at);
  for (const step of [20, 50, 80]) await touch(hand, "touchMove", { x: at.x - step, y: at.y });
  await touch(hand, "touchEnd");
  await until("the canvas to be moved", async () => first.x - (await boxOf(node(page, "latents"))).x > 40);

  const before = (await boxOf(node(page, "latents"))).width;
  const fingers = (apart: number): [Point, Point] => [{ x: at.x - apart, y: at.y }, { x: at.x + apart, y: at.y }];
  await touch(hand, "touchStart", ...fingers(90));
  for (const apart of [75, 60, 50]) await touch(hand, "touchMove", ...fingers(apart));
  await touch(hand, "touchEnd");
  await until("the canvas to be smaller", async () => (await boxOf(node(page, "latents"))).width < before * 0.8);

  await touch(hand, "touchStart", await middleOf(node(page, "latents").locator("header")));
  const menu = page.getByRole("menu", { name: "Menu: Node" });
  await menu.waitFor();
  await touch(hand, "touchEnd");
  await menu.getByText("Mute", { exact: true }).tap();
  await untilKept(rig.server, "it to be muted", (document) => document.nodes.latents.state === "muted");
}, { hasTouch: true });

longFlow("the ports of a subgraph are named, added and taken away, and its links follow", async (rig) => {
  const { server } = rig;
  const page = await begin(rig, CHAIN, ROW);
  await select(page, "decode");
  await page.keyboard.press("Control+Shift+g");
  await page.getByRole("dialog").getByLabel("Name").fill("develop");
  await page.keyboard.press("Enter");
  await untilKept(server, "the subgraph", (document) => document.subgraphs?.develop !== undefined && document.nodes.develop?.inputs.latents !== undefined);
  await node(page, "develop").locator("header").dblclick();
  await page.getByRole("navigation", { name: "Where you are" }).waitFor();
  const inspector = await showPanel(page, "Inspector");
  await inspector.getByRole("heading", { name: "Subgraph develop" }).waitFor();
  const row = inspector.getByRole("listitem").filter({ hasText: "to decode.latents" });
  await row.getByLabel("Name", { exact: true }).fill("noise");
  await page.keyboard.press("Enter");
  const renamed = await untilKept(server, "its new name", (document) => document.subgraphs.develop.inputs.noise !== undefined);
  expect(renamed.nodes.develop.inputs).toEqual({ noise: { link: "latents.latents" } });
  await inspector.getByRole("combobox", { name: "Add an input ..." }).selectOption("decode.tile");
  await untilKept(server, "another port", (document) => document.subgraphs.develop.inputs.tile?.to === "decode.tile");
  await button(inspector, "Move tile up").click();
  await until("its place", async () => Object.keys((await kept(server)).subgraphs.develop.inputs)[0] === "tile");
  await button(page.getByRole("navigation", { name: "Where you are" }), /.*/).first().click();
  await port(page, "develop", "noise", "input").waitFor();
  await port(page, "develop", "tile", "input").waitFor();
  await node(page, "develop").locator("header").click();
  await page.keyboard.press("Enter");
  await button(inspector, "Remove tile").click();
  const last = await untilKept(server, "it to be gone", (document) => document.subgraphs.develop.inputs.tile === undefined);
  expect(last.nodes.develop.inputs).toEqual({ noise: { link: "latents.latents" } });
});

longFlow("a document that was written by hand, without places, is laid out", async (rig) => {
  const page = await begin(rig, { save: CHAIN.save, decode: CHAIN.decode, latents: CHAIN.latents });
  await node(page, "save").waitFor();
  await expectLaidOut(page);
  const canvas = await boxOf(page.locator("#canvas"));
  const last = await boxOf(node(page, "save"));
  expect(last.x + last.width).toBeLessThanOrEqual(canvas.x + canvas.width);
  expect(await kept(rig.server)).not.toHaveProperty("view");
  await select(page, "decode");
  await page.keyboard.press("m");
  const { view } = await untilKept(rig.server, "the first edit", (document) => document.nodes.decode.state === "muted");
  expect(Object.keys(view?.nodes ?? {}).sort()).toEqual(["decode", "latents", "save"]);
});
