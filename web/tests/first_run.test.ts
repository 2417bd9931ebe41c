import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, node, nodesShown, showPanel, untilState } from "./rig/page";
import { until } from "./rig/until";

flow("a new user finds the mini workflow, runs it by one click, sees it come and has the picture", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  expect(page.url()).not.toContain("token");

  await button(page, "Run").click();
  await page.getByRole("img", { name: "Unfinished result of denoise" }).waitFor();
  await untilState(page, "save", "done");
  const picture = button(node(page, "save"), "Picture of save").locator("img");
  await until("the picture on its node", async () => (await picture.evaluate((img) => (img as HTMLImageElement).naturalWidth)) > 0);
  await button(node(page, "decode"), "Look at image").click();
  await page.getByRole("img", { name: "What decode.image holds" }).waitFor();
  await page.keyboard.press("Escape");
  const gallery = await showPanel(page, "Gallery");
  await button(gallery, /^Show large: a large red circle/).waitFor();

  expect((await server.jobs()).map((job) => job.state)).toEqual(["done"]);
});
