import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, node, nodesShown, showPanel, untilState } from "./rig/page";
import { until } from "./rig/until";

flow("a new user finds the mini workflow, runs it by one click, sees it come and has the picture", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  expect(page.url()).not.toContain("token");
  await page.screenshot({ path: "/tmp/first.png" });
  await button(page, "Run").click();
  const preview = page.getByRole("img", { name: /^Unfinished result of/ });
  await preview.first().waitFor();
  await page.screenshot({ path: "/tmp/running.png" });
  await untilState(page, "save", "done");
  const gallery = await showPanel(page, "Gallery");
  await gallery.getByRole("button", { name: /^Show large: a large red circle/ }).first().waitFor();
  await page.screenshot({ path: "/tmp/done.png" });
  await until("the picture on the node", async () => (await node(page, "save").getByRole("img").count()) > 0);
  expect((await server.jobs()).map((job) => job.state)).toEqual(["done"]);
});
