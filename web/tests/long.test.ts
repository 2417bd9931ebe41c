/** Ways through what the twelve flows of `make test` leave out; in `make test-all` only. */

import { expect, test } from "vitest";

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
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Run", exact: true }).last().click();
  await page.getByRole("figure").getByRole("img").waitFor();
  const { outputs } = await server.read("/v1/outputs");
  expect(outputs[0].prompt).toBe("a small green ring on a white background");
}, { viewport: { width: 390, height: 844 }, hasTouch: true });

longFlow("the language is changed in the settings, and stays after a reload", async ({ open }) => {
  const page = await open();
  await nodesShown(page);
  const settings = await showPanel(page, "Settings");
  const language = settings.getByLabel("Language");
  if ((await language.evaluate((one) => one.tagName)) === "SELECT") await language.selectOption("de");
  else await settings.getByText("Deutsch").click();
  await button(page, "Ausführen").waitFor();
  await until("the setting to be kept", async () => page.evaluate(() => document.documentElement.lang === "de"));
  await page.reload();
  await button(page, "Ausführen").waitFor();
});

test.todo("a sweep over two inputs shows a labelled grid of pictures");
test.todo("a mask painted on a picture is wired into the workflow");
test.todo("two pictures are compared side by side, and the difference of their inputs is named");
test.todo("a muted frame mutes all nodes in it");
test.todo("a workflow changed on disk is noticed by the page");
test.todo("touch pans, zooms and opens menus");
