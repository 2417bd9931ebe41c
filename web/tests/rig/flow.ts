/** A way through the page as a test: a browser profile of its own on this file's server, a picture of it where it fails. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { type Browser, type BrowserContext, type BrowserContextOptions, type Page, type Request, chromium } from "playwright-core";
import { afterAll, beforeAll, inject, test } from "vitest";

import { Server } from "./server";
import { PATIENCE_MS, until } from "./until";

const FAILURES = join(import.meta.dirname, "../failures");
const isSkipped = inject("chromium") === "";

export interface Rig {
  readonly server: Server;
  /** The browser's profile: what its pages keep and share. */
  readonly context: BrowserContext;
  /** A tab of the profile with the server's link opened; `hash` replaces the token. */
  open(hash?: string): Promise<Page>;
  /** A tab in another profile: another browser. */
  elsewhere(options?: BrowserContextOptions): Promise<Page>;
}

type Body = (rig: Rig) => Promise<void>;

let browser: Browser | undefined;
let server: Server | undefined;

if (!isSkipped) {
  beforeAll(async () => {
    [browser, server] = await Promise.all([chromium.connect(inject("chromium")), new Server().start()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
}

/** A flow of `make test`. */
export function flow(name: string, body: Body, options: BrowserContextOptions = {}): void {
  test.skipIf(isSkipped)(name, () => walk(name, body, options));
}

/** A flow of `make test-all` only. */
export function longFlow(name: string, body: Body, options: BrowserContextOptions = {}): void {
  test.skipIf(isSkipped || !process.env["LATENTGRAPH_LONG"])(name, () => walk(name, body, options));
}

async function walk(name: string, body: Body, options: BrowserContextOptions): Promise<void> {
  if (browser === undefined || server === undefined) throw new Error("no browser or no server");
  await server.forget();
  const contexts: BrowserContext[] = [];
  const said: string[] = [];
  const context = await profile(options, contexts);
  const on: Rig = {
    server,
    context,
    open: (hash) => open(context, said, hash),
    elsewhere: async (other = options) => open(await profile(other, contexts), said),
  };
  try {
    await body(on);
    await untilKept(contexts.flatMap((one) => one.pages()));
    const broken = said.filter((line) => line.startsWith("uncaught"));
    if (broken.length > 0) throw new Error(`The page threw:\n${broken.join("\n")}`);
  } catch (error) {
    await keepPictures(name, contexts);
    await untilKept(contexts.flatMap((one) => one.pages()), 5_000).catch(() => undefined); // the next flow is not to fail too
    if (error instanceof Error) error.message += `\nThe page said:\n${said.slice(-20).join("\n")}\nPictures: web/tests/failures`;
    throw error;
  } finally {
    await Promise.all(contexts.map((one) => one.close()));
  }
}

async function profile(options: BrowserContextOptions, contexts: BrowserContext[]): Promise<BrowserContext> {
  if (browser === undefined) throw new Error("no browser");
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  contexts.push(context);
  return context;
}

async function open(context: BrowserContext, said: string[], hash?: string): Promise<Page> {
  if (server === undefined) throw new Error("no server");
  const page = await context.newPage();
  watchWriting(page);
  page.on("pageerror", (error) => said.push(`uncaught ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") said.push(`${message.type()}: ${message.text()}`);
  });
  await page.goto(`${server.url}/#${hash ?? `token=${server.token}`}`);
  return page;
}

/** What each page has sent and not heard of: drafts and settings that are written or deleted. */
const writing = new WeakMap<Page, Set<Request>>();

function watchWriting(page: Page): void {
  const under = new Set<Request>();
  writing.set(page, under);
  page.on("request", (request) => { if (request.method() === "PUT" || request.method() === "DELETE") under.add(request); });
  for (const end of ["requestfinished", "requestfailed"] as const) page.on(end as "requestfinished", (request) => under.delete(request));
}

/** Wait until the pages have nothing left to keep: what they send while they close would come in the middle of the next flow. */
async function untilKept(pages: readonly Page[], patienceMs = PATIENCE_MS): Promise<void> {
  const isQuiet = (): boolean => pages.every((page) => writing.get(page)?.size === 0);
  await until("the pages to have kept all they have", async () => {
    if (!isQuiet()) return false;
    await Promise.all(pages.map((page) => page.evaluate(() => window.dispatchEvent(new Event("pagehide")))));
    return isQuiet();
  }, patienceMs);
}

async function keepPictures(name: string, contexts: readonly BrowserContext[]): Promise<void> {
  mkdirSync(FAILURES, { recursive: true });
  const file = name.replaceAll(/[^a-z0-9]+/gi, "-").slice(0, 80);
  const pages = contexts.flatMap((context) => context.pages());
  for (const [at, page] of pages.entries()) await page.screenshot({ path: join(FAILURES, `${file}-${at + 1}.png`) }).catch(() => undefined);
}
