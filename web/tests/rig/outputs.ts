/** Results in the gallery: drawn by the server, or put into its folder as the command line does. */

import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Locator, type Page } from "playwright-core";

import { button } from "./page";
import type { Server } from "./server";
import { until } from "./until";

interface Made {
  readonly id: string;
  readonly kind: string;
  readonly suffix: string;
  readonly bytes: Buffer;
  readonly prompt: string;
}

/** Put a file and its note into the server's folder of outputs, the note last. */
export function publish(server: Server, { id, kind, suffix, bytes, prompt }: Made): void {
  const folder = join(server.folder, "home/outputs");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${id}${suffix}`), bytes);
  const note = { id, file: `${id}${suffix}`, kind, settings: { prompt }, run: {}, sha256: createHash("sha256").update(bytes).digest("hex") };
  writeFileSync(join(folder, `.${id}.tmp`), JSON.stringify(note));
  renameSync(join(folder, `.${id}.tmp`), join(folder, `${id}.json`));
}

/** Delete what the flows before made. */
export async function emptyGallery(server: Server): Promise<void> {
  for (;;) {
    const { outputs } = await server.read("/v1/outputs?limit=200");
    if (outputs.length === 0) return;
    for (const { id } of outputs as { id: string }[]) await server.fetch("DELETE", `/v1/outputs/${id}`);
  }
}

/** What the gallery shows, the newest first. */
export async function untilShown(gallery: Locator, ...prompts: readonly string[]): Promise<void> {
  const pictures = button(gallery, /^Show large: /);
  await until(`the gallery to show ${prompts.join(", ")}`, async () => {
    const names = await pictures.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? ""));
    return names.join("|") === prompts.map((one) => `Show large: ${one}`).join("|");
  });
}

export function card(page: Page, gallery: Locator, prompt: string): Locator {
  return gallery.getByRole("listitem").filter({ has: button(page, `Show large: ${prompt}`) });
}
