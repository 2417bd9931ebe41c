import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, nodesShown, setValue } from "./rig/page";
import { until } from "./rig/until";

flow("two tabs that edit one draft are asked whose counts, and nobody's text is lost", async ({ open, elsewhere, server }) => {
  const one = await open();
  await nodesShown(one);
  await setValue(one, "tokens", "prompt", "first");
  const prompt = async (): Promise<unknown> => (await server.nodes())["tokens"]?.inputs?.["prompt"];
  await until("the draft", async () => (await prompt()) === "first");
  const two = await elsewhere();
  await nodesShown(two);
  await two.getByRole("button", { name: "prompt: first" }).first().waitFor();

  await setValue(one, "tokens", "prompt", "of tab one");
  await until("tab one to be kept", async () => (await prompt()) === "of tab one");
  await setValue(two, "tokens", "prompt", "of tab two");
  const dialog = two.getByRole("dialog", { name: /two contents/ });
  await dialog.waitFor();
  await button(dialog, "Show the differences").click();
  await dialog.getByText("of tab one").first().waitFor();
  await dialog.getByText("of tab two").first().waitFor();
  expect(await prompt()).toBe("of tab one");

  await button(dialog, /^Take theirs/).click();
  await two.getByRole("button", { name: "prompt: of tab one" }).first().waitFor();
  await two.locator("#canvas header").first().click();
  await two.keyboard.press("Control+z");
  await until("undo to bring mine back", async () => (await prompt()) === "of tab two");
});
