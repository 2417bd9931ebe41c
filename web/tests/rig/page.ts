/** What one does on the page, by the names that a screen reader says. */

import type { Locator, Page } from "playwright-core";

import { until } from "./until";

export function button(within: Page | Locator, name: string | RegExp): Locator {
  return within.getByRole("button", { name, exact: typeof name === "string" });
}

/** A node on the canvas by its id. */
export function node(page: Page, id: string): Locator {
  return page.locator(`.react-flow__node[data-id="${id}"]`);
}

/** A port of a node, as the button it is. */
export function port(page: Page, id: string, name: string, side: "input" | "output"): Locator {
  return node(page, id).locator(`[data-port="${name}"][data-side="${side}"]`);
}

/** The state that a node shows: "done", "running", "cached", "stale", "planned" ... */
export function stateOf(page: Page, id: string): Promise<string | null> {
  return node(page, id).locator("[data-state]").first().getAttribute("data-state", { timeout: 1000 }).catch(() => null);
}

export async function untilState(page: Page, id: string, ...states: readonly string[]): Promise<void> {
  await until(`${id} to be ${states.join(" or ")}`, async () => states.includes((await stateOf(page, id)) ?? ""));
}

/** Wait until the page shows the nodes of a document. */
export async function nodesShown(page: Page): Promise<void> {
  await page.locator(".react-flow__node").first().waitFor();
}

/** Set a value on a node, as one does by mouse and keyboard. */
export async function setValue(page: Page, id: string, name: string, value: string): Promise<void> {
  const row = node(page, id).locator(`[data-widget][aria-label^="${name}"]`);
  await row.first().click();
  const field = node(page, id).locator(`input[aria-label="${name}"], textarea[aria-label="${name}"]`);
  await field.fill(value);
  await page.keyboard.press("Tab");
}

export async function boxOf(one: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await one.boundingBox();
  if (box === null) throw new Error(`${one} is not seen`);
  return box;
}

export async function middleOf(one: Locator): Promise<{ x: number; y: number }> {
  const box = await boxOf(one);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Draw from one place to another with the mouse held. */
export async function drag(page: Page, from: Locator, to: Locator | { readonly x: number; readonly y: number }): Promise<void> {
  const start = await middleOf(from);
  const end = "x" in to ? to : await middleOf(to);
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 4 });
  await page.mouse.move(end.x, end.y, { steps: 4 });
  await page.mouse.up();
}

/** Open a panel by its button at the side, if it is not open. */
export async function showPanel(page: Page, title: string): Promise<Locator> {
  const panel = page.getByRole("complementary", { name: title, exact: true });
  if (!(await panel.isVisible())) await button(page.getByRole("navigation"), title).click();
  await panel.waitFor();
  return panel;
}

