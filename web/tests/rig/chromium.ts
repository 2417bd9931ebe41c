/** One chromium for all files. Without it the flows are skipped, and say so; where CI is set that is a failure. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the browser listens; "" if there is none. */
    readonly chromium: string;
  }
}

export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];

/** The chromium on the path; undefined if there is none. */
export function findChromium(): string | undefined {
  const places = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "chromium"));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    if (process.env["CI"]) throw new Error("chromium is not installed, and CI may not skip the tests of the page.");
    console.warn("The browser tests of the page are skipped: they need chromium.");
    project.provide("chromium", "");
    return undefined;
  }
  const browser = await chromium.launchServer({ executablePath, args: FLAGS });
  project.provide("chromium", browser.wsEndpoint());
  return () => browser.close();
}
