/** What is empty, what is missing, and workflows as files; in `make test-all` only. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "vitest";

import { kept, openWith, untilKept, workflowOf } from "./rig/document";
import { longFlow } from "./rig/flow";
import { button, node, nodesShown, setValue, showPanel } from "./rig/page";
import { until } from "./rig/until";

longFlow("what is empty says what it is for and what to do", async ({ open }) => {
  const page = await open();
  await nodesShown(page);
  await button(page, "New workflow").click();
  const canvas = page.locator("main");
  await canvas.getByText("Double-click, or press Tab, to add the first node.").waitFor();
  const said: readonly (readonly [panel: string, text: string])[] = [
    ["Workflows", "Nothing is saved yet. Save the open workflow with Ctrl+S."],
    ["Inspector", "Nothing in it yet. Double click on the canvas, or press Tab there, to add a node."],
    ["Parameters", "Give inputs of this workflow a name and they become a form"],
    ["Gallery", "Run a workflow that saves a picture: it appears here by itself"],
    ["Queue", "Nothing runs and nothing waits. Run a workflow, and its job stands here until it has ended."],
    ["Plan", "Add a node and name an output, or add a save node."],
    ["Problems", "No problems: this workflow can run."],
    ["Sweep", "A sweep runs a workflow with several values of one or two inputs"],
  ];
  for (const [panel, text] of said) await (await showPanel(page, panel)).getByText(text).waitFor();
  await button(canvas, "Add a node").click();
  await page.getByRole("combobox", { name: "Add a node" }).waitFor();
});

longFlow("a model that is missing is told with what to do, and another is chosen in its node", async (rig) => {
  const { server } = rig;
  const page = await openWith(rig, workflowOf(
    { load: { type: "load_pipeline", inputs: { model: "flux_of_nowhere" } } }, { view: { nodes: { load: { x: 0, y: 0 } } } },
  ));
  const notice = page.getByRole("status").filter({ hasText: "Models that are missing here: flux_of_nowhere." });
  await notice.getByText("Put each one's folder into the folder “models” of the server's data folder, or choose another model in the node.").waitFor();
  expect((await kept(server)).nodes.load.inputs.model).toBe("flux_of_nowhere");
  await button(node(page, "load"), "model: flux_of_nowhere").click();
  const list = node(page, "load").getByRole("combobox", { name: "model" });
  expect(await list.locator("option").allTextContents()).toEqual(expect.arrayContaining(["mini", "flux_of_nowhere (missing)"]));
  await list.selectOption("mini");
  await untilKept(server, "the other model", ({ nodes }) => nodes.load.inputs.model === "mini");
  await notice.waitFor({ state: "detached" });
});

longFlow("workflows of a folder that the server was given are listed as they come and go, and saved there", async ({ open, server }) => {
  const folder = join(server.folder, "of mine");
  mkdirSync(folder);
  await server.kill();
  server.words = ["--workflows", folder];
  await server.start();
  const page = await open();
  await nodesShown(page);
  const panel = await showPanel(page, "Workflows");
  const file = join(folder, "given.json");
  writeFileSync(file, JSON.stringify({ ...workflowOf({ words: { type: "text", inputs: { value: "from outside" } } }), name: "given" }));
  const entry = button(panel, /^given.*from a folder of yours/);
  await entry.click();
  await button(node(page, "words"), "value: from outside").waitFor();
  await setValue(page, "words", "value", "from the page");
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+s");
  await until("the file to have it", () => readFileSync(file, "utf8").includes('"from the page"'));
  rmSync(file);
  await page.getByText("The file of given is gone. What is open stays; saving makes it anew.").waitFor();
  await entry.waitFor({ state: "detached" });
  await button(node(page, "words"), "value: from the page").waitFor();
  await server.kill();
  server.words = [];
  await server.start();
});

longFlow("of two contents both are kept, each in a tab of its own", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByLabel("Name").fill("both");
  await page.keyboard.press("Enter");
  await page.getByText("Saved as both.").waitFor();
  await setValue(page, "tokens", "prompt", "mine");
  const file = join(server.folder, "home/workflows/both.json");
  writeFileSync(file, readFileSync(file, "utf8").replace("a large red circle on a blue background", "theirs"));
  const dialog = page.getByRole("dialog", { name: /^both: two contents/ });
  await button(dialog, /^Keep both/).click();
  await button(node(page, "tokens"), "prompt: theirs").waitFor();
  const tabs = page.getByRole("navigation", { name: "Open workflows" });
  await until("two tabs", async () => (await tabs.getByRole("listitem").count()) === 2);
  await tabs.getByRole("listitem").last().getByRole("button").first().click();
  await button(node(page, "tokens"), "prompt: mine").waitFor();
  expect(readFileSync(file, "utf8")).toContain('"theirs"');
});
