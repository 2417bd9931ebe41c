import { expect } from "vitest";

import { flow } from "./rig/flow";
import { drag, node, nodesShown, port, setValue } from "./rig/page";
import { until } from "./rig/until";

flow("every gesture is one step: undone to the first byte, done again to the last", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  const steps: { readonly name: string; do(): Promise<void> }[] = [
    { name: "set a value", do: () => setValue(page, "tokens", "prompt", "a small green ring") },
    { name: "move a node", do: () => drag(page, node(page, "save").locator("header"), { x: 1300, y: 200 }) },
    { name: "take a wire off by its port", do: () => drag(page, port(page, "decode", "latents", "input"), { x: 950, y: 150 }) },
    { name: "draw a wire", do: () => drag(page, port(page, "denoise", "latents", "output"), port(page, "decode", "latents", "input")) },
    { name: "mute", do: () => press("negative_pad", "m") },
    { name: "collapse", do: () => press("encode", "h") },
    { name: "delete and close the gap", do: () => press("keep", "Control+Delete") },
    { name: "duplicate", do: () => press("latents", "Control+d") },
  ];
  const press = async (id: string, keys: string): Promise<void> => {
    await node(page, id).locator("header").click();
    await page.keyboard.press(keys);
  };
  const kept = async (): Promise<string> => JSON.stringify((await server.drafts())[0]?.document ?? null);

  const versions: string[] = ["null"];
  for (const step of steps) {
    await step.do();
    if (step.name === "take a wire off by its port") await page.keyboard.press("Escape"); // the list that is offered for its end
    versions.push(await until(`the server to keep: ${step.name}`, async () => {
      const now = await kept();
      return now === versions.at(-1) ? null : now;
    }));
  }
  await node(page, "denoise").locator("header").click();
  for (const version of versions.slice(1, -1).reverse()) {
    await page.keyboard.press("Control+z");
    await until("undo to be kept", async () => (await kept()) === version);
  }
  for (const version of versions.slice(2)) {
    await page.keyboard.press("Control+Shift+z");
    await until("redo to be kept", async () => (await kept()) === version);
  }
  expect(Object.keys(JSON.parse(versions.at(-1) ?? "{}")["nodes"])).not.toContain("keep");
});
