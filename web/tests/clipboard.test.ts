import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, node, nodesShown } from "./rig/page";
import { until } from "./rig/until";

flow("nodes are copied from one tab into another as the text of a workflow", async ({ open, context, server }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await open();
  await nodesShown(page);
  await node(page, "tokens").locator("header").click();
  await node(page, "encode").locator("header").click({ modifiers: ["Shift"] });
  await page.keyboard.press("Control+c");
  const text = await until("the clipboard", async () => (await page.evaluate(() => navigator.clipboard.readText())) || null);
  const copied = JSON.parse(text) as { readonly format: string; readonly nodes: object };
  expect([copied.format, Object.keys(copied.nodes).sort()]).toEqual(["latentgraph/workflow", ["encode", "tokens"]]);

  const other = await open();
  await nodesShown(other);
  await button(other, "New workflow").click();
  await other.getByText("Nothing here yet").waitFor();
  await other.keyboard.press("Control+v");
  await node(other, "tokens").waitFor();
  const pasted = await until("the draft", async () => (await server.drafts()).find((draft) => draft.document.name === undefined));
  expect(pasted.document.nodes["encode"]?.inputs?.["tokens"]).toEqual({ link: "tokens.tokens" });
  expect(pasted.document.nodes["tokens"]?.inputs?.["prompt"]).toBe("a large red circle on a blue background");
  await other.keyboard.press("Control+z");
  await node(other, "tokens").waitFor({ state: "detached" });
  await other.getByText("Nothing here yet").waitFor();
});
