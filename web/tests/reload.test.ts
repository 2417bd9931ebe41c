import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, nodesShown, setValue, untilState } from "./rig/page";

flow("a page that is loaded again during a run shows it on, with its preview, to its end", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await setValue(page, "denoise", "steps", "30");
  await button(page, "Run").click();
  await page.getByRole("img", { name: "Unfinished result of denoise" }).waitFor();

  await page.reload();
  await untilState(page, "denoise", "running");
  await page.getByRole("img", { name: "Unfinished result of denoise" }).waitFor();
  await untilState(page, "save", "done");
  await page.reload();
  await untilState(page, "save", "done");
  expect((await server.jobs()).map((job) => job.state)).toEqual(["done"]);
});
