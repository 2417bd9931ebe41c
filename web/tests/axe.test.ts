import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Page } from "playwright-core";
import { expect } from "vitest";

import { type Rig, flow } from "./rig/flow";
import { button, nodesShown, showPanel, untilState } from "./rig/page";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds that is serious or critical, as "rule: element". */
async function flaws(page: Page): Promise<string[]> {
  await page.evaluate(AXE); // over the debugger: the page's policy lets no script in
  return page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { target: string[] }[] }[] }> } }).axe.run();
    return violations.filter((one) => one.impact === "serious" || one.impact === "critical").flatMap((one) => one.nodes.map((found) => `${one.id}: ${found.target.join(" ")}`));
  });
}

async function lookAtAll({ open }: Rig): Promise<void> {
  const page = await open();
  await nodesShown(page);
  const found: Record<string, string[]> = {};
  const look = async (view: string): Promise<void> => {
    const seen = await flaws(page);
    if (seen.length > 0) found[view] = seen;
  };
  await look("canvas");
  await button(page, "Run").click();
  await untilState(page, "save", "done", "cached");
  await look("canvas after a run");
  for (const title of ["Workflows", "Parameters", "Inspector", "Queue", "Gallery", "Files", "Plan", "Problems", "Settings"]) {
    await showPanel(page, title);
    await look(title);
  }
  await showPanel(page, "Gallery");
  await button(page, /^Show large/).first().click();
  await page.getByRole("dialog").waitFor();
  await look("large view");
  await page.keyboard.press("Escape");
  for (const [keys, view] of [["Shift+A", "palette of nodes"], ["Control+k", "palette of commands"], ["Shift+?", "list of keys"]] as const) {
    await page.locator(".react-flow__node header").first().click();
    await page.keyboard.press(keys);
    await page.getByRole("dialog").waitFor();
    await look(view);
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("Alt+w");
  await page.getByText("Start with a template").first().waitFor();
  await look("templates");
  expect(found).toEqual({});
}

flow("axe finds nothing serious on the main views in the light theme", lookAtAll, { colorScheme: "light" });
flow("axe finds nothing serious on the main views in the dark theme", lookAtAll, { colorScheme: "dark" });
