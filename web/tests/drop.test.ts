import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { expect } from "vitest";

import { flow } from "./rig/flow";
import { button, node, nodesShown } from "./rig/page";
import { ROOT, type Server } from "./rig/server";
import { SERVER_PATIENCE_MS, until } from "./rig/until";

async function drop(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  const transfer = await page.evaluateHandle(({ name: file, base64 }) => {
    const data = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const dropped = new DataTransfer();
    dropped.items.add(new File([data], file, { type: "image/png" }));
    return dropped;
  }, { name, base64: Buffer.from(bytes).toString("base64") });
  for (const kind of ["dragover", "drop"]) await page.dispatchEvent("main", kind, { dataTransfer: transfer });
}

async function drawn(server: Server, prompt: string): Promise<Uint8Array> {
  const answer = await server.fetch("POST", "/v1/jobs", { workflow: "mini_text_to_image", inputs: { prompt } });
  const { id } = (await answer.json()) as { readonly id: string };
  await until("the job to end", async () => (await server.read(`/v1/jobs/${id}`))["state"] === "done", SERVER_PATIENCE_MS);
  const { outputs } = await server.read(`/v1/outputs?job=${id}`);
  return new Uint8Array(await (await server.fetch("GET", `/v1/outputs/${outputs[0].id}/file`)).arrayBuffer());
}

flow("a dropped picture opens the workflow that it carries, and one without becomes an input", async ({ open, server }) => {
  const page = await open();
  await nodesShown(page);
  await drop(page, "carries.png", await drawn(server, "a small yellow square on a black background"));
  const dialog = page.getByRole("dialog", { name: "This picture carries its workflow" });
  await button(dialog, "Open the workflow").click();
  await node(page, "tokens").getByRole("button", { name: "prompt: a small yellow square on a black background" }).waitFor();
  expect(await page.getByRole("navigation", { name: "Open workflows" }).getByRole("listitem").count()).toBe(2);

  await drop(page, "plain.png", readFileSync(join(ROOT, "workflows/mini_input.png")));
  await node(page, "load_image").getByRole("button", { name: /plain\.png/ }).first().waitFor();
});
