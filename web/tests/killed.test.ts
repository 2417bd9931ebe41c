import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, nodesShown, setValue, showPanel, stateOf, untilState } from "./rig/page";
import { until } from "./rig/until";

const AWAY = /The server does not answer\. Trying again/;

flow("a server killed during editing loses nothing that is typed, and the page goes on by itself", async ({ open, server, context }) => {
  const page = await open();
  await nodesShown(page);
  await setValue(page, "tokens", "prompt", "typed before");
  await until("the draft", async () => (await server.nodes())["tokens"]?.inputs?.["prompt"] === "typed before");

  await server.kill();
  await setValue(page, "tokens", "prompt", "typed while it was dead");
  await page.getByText(AWAY).waitFor();
  await page.getByText("Server away: kept in this browser").waitFor();
  await server.start();
  await page.getByText(AWAY).waitFor({ state: "detached" });
  await until("the server to have it", async () => (await server.nodes())["tokens"]?.inputs?.["prompt"] === "typed while it was dead");

  await server.kill();
  await setValue(page, "tokens", "prompt", "typed before the tab was closed");
  await page.getByText("Server away: kept in this browser").waitFor();
  await page.close();
  await server.start();
  const next = await open();
  await nodesShown(next);
  await next.getByRole("button", { name: /^prompt: typed before the tab was closed/ }).first().waitFor();
  await until("the server to have that too", async () => (await server.nodes())["tokens"]?.inputs?.["prompt"] === "typed before the tab was closed");
  expect(context.pages()).toHaveLength(1);
});

flow("a server killed during a run is waited for, and the run ends once", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await setValue(page, "denoise", "steps", "30");
  await button(page, "Run").click();
  await page.getByRole("img", { name: "Unfinished result of denoise" }).waitFor();

  await server.kill();
  await page.getByText(AWAY).waitFor();
  await setValue(page, "negative_tokens", "prompt", "typed meanwhile");
  await server.start();
  await page.getByText(AWAY).waitFor({ state: "detached" });
  await untilState(page, "denoise", "stale", "planned"); // what is typed makes it so, whatever the run does
  await page.keyboard.press("Control+z");
  await untilState(page, "save", "done");
  const gallery = await showPanel(page, "Gallery");
  await button(gallery, /^Show large/).first().waitFor();
  expect(await stateOf(page, "denoise")).toBe("done");
  expect((await server.jobs()).map((job) => job.state)).toEqual(["done"]);
});
