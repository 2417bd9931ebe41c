/** Ways through what the twelve flows of `make test` leave out; in `make test-all` only. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "vitest";

import { longFlow } from "./rig/flow";
import { button, node, nodesShown, setValue, showPanel, stateOf, untilState } from "./rig/page";
import { until } from "./rig/until";

longFlow("a run that is cancelled says so on its node and in the queue", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await setValue(page, "denoise", "steps", "100");
  await button(page, "Run").click();
  await page.getByRole("img", { name: "Unfinished result of denoise" }).waitFor();
  await button(page, "Cancel the run").click();
  await untilState(page, "denoise", "cancelled");
  expect(["cancelled", "skipped"]).toContain(await stateOf(page, "save"));
  const queue = await showPanel(page, "Queue");
  await queue.getByText("cancelled").first().waitFor();
  expect((await server.jobs()).map((job) => job.state)).toEqual(["cancelled"]);
});

longFlow("saving makes a version, and an earlier one is brought back", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  const prompt = async (): Promise<unknown> => (await server.read("/v1/workflows/of%20mine"))["nodes"]["tokens"]["inputs"]["prompt"];
  await setValue(page, "tokens", "prompt", "the first");
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByLabel("Name").fill("of mine");
  await page.keyboard.press("Enter");
  await page.getByText("Saved as of mine.").waitFor();
  await setValue(page, "tokens", "prompt", "the second");
  await page.keyboard.press("Control+s");
  await until("the second version", async () => (await prompt()) === "the second");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("versions");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Versions of of mine" });
  await button(dialog, "Restore").first().click();
  await dialog.getByText("Version 3").waitFor();
  expect(await prompt()).toBe("the first");
});

longFlow("a node whose type is missing is shown, and keeps all it holds while others are edited", async ({ open, server }) => {
  const strange = { type: "gone/sharpen", inputs: { image: { link: "text.value" }, strength: 0.25, words: ["a", "b"] } };
  const document = {
    $schema: "latentgraph/workflow-1.json", format: "latentgraph/workflow", version: "1.0",
    nodes: { text: { type: "text", inputs: { value: "before" } }, strange },
  };
  await server.fetch("PUT", "/v1/drafts/0c5c9a52-6a43-4f6e-9a55-8d6a3c9b1f10", { document, workflow: null, base: null }, { "If-None-Match": "*" });
  const page = await open();
  await nodesShown(page);
  await page.getByText("Node types that are missing here: gone/sharpen.").waitFor();
  await setValue(page, "text", "value", "after");
  await until("the edit", async () => (await server.nodes())["text"]?.inputs?.["value"] === "after");
  expect((await server.nodes())["strange"]).toEqual(strange);
});

longFlow("nodes become a subgraph that runs the same, and come out of it again", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await node(page, "tokens").locator("header").click();
  for (const id of ["encode", "prune"]) await node(page, id).locator("header").click({ modifiers: ["Shift"] });
  await page.keyboard.press("Control+Shift+g");
  await page.getByRole("dialog").getByLabel("Name").fill("words");
  await page.keyboard.press("Enter");
  await until("the instance", async () => Object.values(await server.nodes()).some((one) => one.type === "#words"));
  await button(page, "Run").click();
  await untilState(page, "save", "done");
  const [instance] = Object.entries(await server.nodes()).find(([, one]) => one.type === "#words") ?? [""];
  await node(page, instance).locator("header").click();
  await page.keyboard.press("Control+Shift+u");
  await until("the nodes to be back", async () => Object.values(await server.nodes()).filter((one) => one.type === "prune_tokens").length === 2);
  expect(await server.nodes()).not.toHaveProperty(instance);
});

longFlow("a phone fills in the form and gets its picture", async ({ open, server }) => {
  const page = await open();
  await page.getByRole("button", { name: /^Form/ }).click();
  await page.getByRole("button", { name: /^Prompt: |^prompt: / }).last().click();
  await page.getByRole("textbox", { name: /^prompt$/i }).last().fill("a small green ring on a white background");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Run", exact: true }).last().click();
  await page.getByRole("figure").getByRole("img").waitFor();
  const { outputs } = await server.read("/v1/outputs");
  expect(outputs[0].prompt).toBe("a small green ring on a white background");
}, { viewport: { width: 390, height: 844 }, hasTouch: true });

longFlow("a sweep over two inputs shows a labelled grid of pictures, and two of them are compared", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await setValue(page, "denoise", "steps", "2");
  const before = new Set((await server.jobs()).map((job) => job.id));
  await button(page, "More ways to run").click();
  await button(page, "Sweep...").click();
  const dialog = page.getByRole("dialog", { name: "Run with several values" });
  for (const [number, input, values] of [[1, /seed/i, "1..2"], [2, /steps/i, "2\n3"]] as const) {
    const axis = dialog.getByRole("group", { name: `Input ${number}` });
    const choice = axis.getByRole("combobox");
    await choice.waitFor();
    const label = (await choice.locator("option").allTextContents()).find((one) => input.test(one)) ?? "";
    await choice.selectOption(label);
    await axis.getByRole("textbox").fill(values);
  }
  await dialog.getByText("4 jobs").waitFor();
  await button(dialog, "Run the sweep").click();
  const sweep = page.getByRole("complementary", { name: "Sweep" });
  await until("four pictures", async () => (await sweep.getByRole("cell").getByRole("img").count()) === 4);
  expect(await sweep.getByRole("rowheader").allTextContents()).toEqual(["1", "2"]);
  expect((await sweep.getByRole("columnheader").allTextContents()).slice(1)).toEqual(["2", "3"]);
  const made = async (): Promise<string[]> => (await server.jobs()).filter((job) => !before.has(job.id)).map((job) => job.state);
  await until("the jobs to be done", async () => (await made()).every((state) => state === "done"));
  expect(await made()).toHaveLength(4);

  const gallery = await showPanel(page, "Gallery");
  await button(gallery, /^Show large/).nth(3).waitFor();
  await button(gallery, "More actions").first().click();
  await page.getByRole("menuitem", { name: "Compare with ..." }).click();
  await button(gallery, /^Show large/).nth(3).click();
  const compare = page.getByRole("dialog", { name: "Compare" });
  await compare.getByRole("rowheader", { name: "denoise.seed" }).waitFor();
  await compare.getByRole("rowheader", { name: "denoise.steps" }).waitFor();
  expect(await compare.getByRole("figure").count()).toBe(2);
});

longFlow("a muted frame mutes all nodes in it", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await node(page, "negative_prune").locator("header").click();
  await node(page, "negative_keep").locator("header").click({ modifiers: ["Shift"] });
  await page.keyboard.press("Control+g");
  const frame = page.locator('.react-flow__node[data-id^="frame:"]');
  await frame.waitFor();
  await page.getByRole("dialog", { name: "Rename" }).getByLabel("Title").fill("not wanted");
  await page.keyboard.press("Enter");
  await frame.getByText("not wanted").waitFor();
  await frame.click({ position: { x: 12, y: 8 } });
  await page.keyboard.press("m");
  await until("both to be muted", async () => {
    const nodes = await server.nodes();
    return nodes["negative_prune"]?.state === "muted" && nodes["negative_keep"]?.state === "muted";
  });
  expect(Object.values(await server.nodes()).filter((one) => one.state === "muted")).toHaveLength(2);
});

longFlow("a saved workflow that another program changes is loaded again", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByLabel("Name").fill("shared");
  await page.keyboard.press("Enter");
  await page.getByText("Saved as shared.").waitFor();
  const file = join(server.folder, "home/workflows/shared.json");
  writeFileSync(file, readFileSync(file, "utf8").replace("a large red circle on a blue background", "changed on disk"));
  await node(page, "tokens").getByRole("button", { name: "prompt: changed on disk" }).waitFor();
});
