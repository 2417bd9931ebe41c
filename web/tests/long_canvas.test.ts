/** The canvas by hand: wheels, trackpads, ports, frames and tabs; in `make test-all` only. */

import type { Page } from "playwright-core";
import { expect } from "vitest";

import { kept, openWith, workflowOf } from "./rig/document";
import { longFlow } from "./rig/flow";
import { boxOf, button, drag, node, nodesShown, port, setValue, showPanel, untilState } from "./rig/page";
import type { Answer } from "./rig/server";
import { until } from "./rig/until";

const NUMBERS = workflowOf({
  half: { type: "number", inputs: { value: 0.5 } },
  sum: { type: "math", inputs: { operation: "add", a: 4, b: 2 } },
}, { outputs: { sum: { from: "sum.value" } }, view: { nodes: { half: { x: 0, y: 0 }, sum: { x: 400, y: 0 } } } });

interface View {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

/** Where the canvas is: a step of its view that is not the last one shows in it too. */
function viewOf(page: Page): Promise<View> {
  return page.locator(".react-flow__viewport").evaluate((element) => {
    const { e, f, a } = new DOMMatrix(getComputedStyle(element).transform);
    return { x: e, y: f, zoom: a };
  });
}

function untilView(page: Page, what: string, is: (view: View) => boolean): Promise<View> {
  return until(what, async () => {
    const view = await viewOf(page);
    return is(view) ? view : null;
  });
}

longFlow("a wheel zooms around the pointer, and two fingers on a trackpad move the canvas and pinch it", async (rig) => {
  const page = await openWith(rig, NUMBERS);
  const box = await boxOf(node(page, "sum"));
  const [x, y] = [box.x + box.width, box.y + box.height + 80];
  await page.mouse.move(x, y);
  const first = await viewOf(page);
  await page.mouse.wheel(0, -120);
  const near = await untilView(page, "the wheel to zoom in", (view) => view.zoom > first.zoom * 1.05);
  const canvas = await boxOf(page.locator(".react-flow"));
  const under = (view: View): number[] => [(x - canvas.x - view.x) / view.zoom, (y - canvas.y - view.y) / view.zoom];
  for (const [at, value] of under(near).entries()) expect(Math.abs(value - (under(first)[at] ?? 0))).toBeLessThan(1);
  await page.mouse.wheel(0, 120);
  const far = await untilView(page, "the wheel to zoom out", (view) => view.zoom < near.zoom * 0.96);

  await page.mouse.wheel(30, 17);
  const moved = await untilView(page, "two fingers to move it", (view) => view.x !== far.x);
  expect([moved.x - far.x, moved.y - far.y, moved.zoom]).toEqual([-30, -17, far.zoom]);
  await page.keyboard.down("Control"); // as browsers tell of a pinch
  await page.mouse.wheel(0, -20);
  await untilView(page, "the pinch to zoom in", (view) => view.zoom > moved.zoom * 1.02);
  await page.keyboard.up("Control");
});

longFlow("a wheel moves the canvas where that is wished, and still zooms with Ctrl", async (rig) => {
  const page = await openWith(rig, NUMBERS);
  const settings = await showPanel(page, "Settings");
  const wheel = settings.getByRole("group", { name: "Turning the wheel" });
  await wheel.getByRole("radio", { name: "Moves" }).check();
  const box = await boxOf(node(page, "sum"));
  await page.mouse.move(box.x + box.width / 2, box.y + box.height + 80);
  const first = await viewOf(page);
  await page.mouse.wheel(0, 120);
  const moved = await untilView(page, "the wheel to move it", (view) => view.y !== first.y);
  expect([moved.x - first.x, moved.y - first.y, moved.zoom]).toEqual([0, -120, first.zoom]);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -120);
  await untilView(page, "it to zoom with Ctrl", (view) => view.zoom > first.zoom * 1.05);
  await page.keyboard.up("Control");
  await wheel.getByRole("radio", { name: "Zooms" }).check(); // the server keeps it for the next flow
});

longFlow("the canvas is moved with the middle button, and with Space held", async (rig) => {
  const page = await openWith(rig, NUMBERS);
  const box = await boxOf(node(page, "sum"));
  const at = { x: box.x + box.width / 2, y: box.y + box.height + 150 };
  const pull = async (mouse: "left" | "middle"): Promise<void> => {
    await page.mouse.move(at.x, at.y);
    await page.mouse.down({ button: mouse });
    await page.mouse.move(at.x + 30, at.y + 20, { steps: 3 });
    await page.mouse.move(at.x + 60, at.y + 40, { steps: 3 });
    await page.mouse.up({ button: mouse });
  };
  const first = await viewOf(page);
  await pull("middle");
  const second = await untilView(page, "the middle button to move it", (view) => view.x > first.x + 40 && view.y > first.y + 20);
  await page.locator("#canvas").focus();
  await page.keyboard.down("Space");
  await pull("left");
  await page.keyboard.up("Space");
  await untilView(page, "Space to move it", (view) => view.x > second.x + 40 && view.y > second.y + 20);
  expect(await page.locator(".react-flow__node.selected").count()).toBe(0);
});

longFlow("ports tell by their shape whether they take one value, a list or anything, and by their colour its type", async (rig) => {
  const page = await openWith(rig, workflowOf(
    { list: { type: "make_list", inputs: {} }, picture: { type: "load_image", inputs: {} }, sum: { type: "math", inputs: {} } },
    { view: { nodes: { list: { x: 0, y: 0 }, picture: { x: 400, y: 0 }, sum: { x: 800, y: 0 } } } },
  ));
  const look = (id: string, name: string, side: "input" | "output"): Promise<{ shape: string; colour: string }> =>
    port(page, id, name, side).evaluate((element) => {
      const styles = [getComputedStyle(element), getComputedStyle(element, "::before"), getComputedStyle(element, "::after")];
      return { shape: styles.map((one) => `${one.borderRadius} ${one.transform} ${one.clipPath} ${one.rotate}`).join(), colour: getComputedStyle(element).getPropertyValue("--c") };
    });
  const [one, list, any, number] = [await look("picture", "image", "output"), await look("list", "values", "output"), await look("list", "first", "input"), await look("sum", "value", "output")];
  expect(new Set([one.shape, list.shape, any.shape]).size).toBe(3);
  expect(number.shape).toBe(one.shape);
  expect(number.colour).not.toBe(one.colour);
  expect(await port(page, "list", "values", "output").getAttribute("aria-label")).toBe("values: output, list[T]");
});

longFlow("an input is a value and a socket at once", async (rig) => {
  const { server } = rig;
  const page = await openWith(rig, NUMBERS);
  const a = async (): Promise<Answer> => (await kept(server)).nodes.sum.inputs.a;
  await setValue(page, "sum", "a", "5");
  await until("the value", async () => (await a()) === 5);
  await drag(page, port(page, "half", "value", "output"), port(page, "sum", "a", "input"));
  await node(page, "sum").getByText("← half.value").waitFor();
  await until("the link", async () => JSON.stringify(await a()) === '{"link":"half.value"}');
  await port(page, "sum", "a", "input").focus();
  await page.keyboard.press("Delete");
  await node(page, "sum").locator('[data-widget][aria-label^="a"]').first().waitFor();
  await setValue(page, "sum", "a", "7");
  await until("a value again", async () => (await a()) === 7);
  await button(page, "Run").click();
  await untilState(page, "sum", "done");
  await button(node(page, "sum"), "Look at value").click();
  await page.getByRole("dialog", { name: "Look at value" }).getByText("9", { exact: true }).waitFor();
});

longFlow("a bypassed frame lets through what comes in, and none of its nodes runs", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await setValue(page, "denoise", "steps", "2");
  await node(page, "negative_prune").locator("header").click();
  await node(page, "negative_keep").locator("header").click({ modifiers: ["Shift"] });
  await page.keyboard.press("Control+g");
  await page.getByRole("dialog", { name: "Rename" }).getByLabel("Title").fill("passed over");
  await page.keyboard.press("Enter");
  const title = page.locator("[data-frame-title]").filter({ hasText: "passed over" });
  await title.waitFor();
  await title.click({ position: { x: 12, y: 8 } });
  await page.keyboard.press("Control+b");
  const bypassed = async (): Promise<string[]> => Object.entries(await server.nodes()).filter(([, one]) => one.state === "bypassed").map(([id]) => id).sort();
  await until("both to be bypassed", async () => (await bypassed()).join() === "negative_keep,negative_prune");
  await button(page, "Run").click();
  await untilState(page, "save", "done");
  const [job] = await server.jobs();
  const ran = (await server.read(`/v1/jobs/${job?.id}`)).nodes.map((row: Answer) => row.id) as string[];
  expect(ran).toEqual(expect.arrayContaining(["negative_encode", "negative_pad", "prune"]));
  expect(ran.filter((id) => ["negative_prune", "negative_keep"].includes(id))).toEqual([]);
  await page.keyboard.press("Control+b");
  await until("none to be bypassed", async () => (await bypassed()).length === 0);
});

longFlow("tabs are changed, moved, closed and opened again, and all are there after a reload", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  const tabs = page.getByRole("navigation", { name: "Open workflows" });
  const names = async (): Promise<string> => (await tabs.locator("[data-active] > button:first-child > span:first-child").allTextContents()).join();
  const shown = (): Promise<string | null> => tabs.locator("[aria-current=page] > span:first-child").textContent();
  await setValue(page, "tokens", "prompt", "in the first tab");
  await button(page, "New workflow").click();
  await page.getByText("Nothing here yet").waitFor();
  await page.locator("#canvas").focus();
  await page.keyboard.press("n");
  await page.keyboard.press("Escape"); // the note is written at once
  await until("both to be kept", async () => (await server.drafts()).length === 2);
  expect(await names()).toBe("mini_text_to_image,Untitled");

  await page.keyboard.press("Alt+1");
  await button(node(page, "tokens"), "prompt: in the first tab").waitFor();
  await drag(page, tabs.getByRole("listitem").nth(0), tabs.getByRole("listitem").nth(1));
  await until("the other order", async () => (await names()) === "Untitled,mini_text_to_image");
  await button(tabs, "Close mini_text_to_image").click();
  await until("one tab", async () => (await names()) === "Untitled");
  await showPanel(page, "Workflows");
  await page.getByRole("complementary", { name: "Workflows" }).getByText("Closed, not saved").waitFor();
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Commands" }).fill("Open again what was closed last");
  await page.keyboard.press("Enter");
  await button(node(page, "tokens"), "prompt: in the first tab").waitFor();
  const before = [await names(), await shown()];
  await page.reload();
  await button(node(page, "tokens"), "prompt: in the first tab").waitFor();
  await until("all tabs to be there", async () => JSON.stringify([await names(), await shown()]) === JSON.stringify(before));
});
