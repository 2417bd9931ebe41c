/**
 * Measures the page in chromium: `node bench/page.mjs URL TOKEN NODES`, on a server with a data folder of its own.
 *
 * Prints one JSON document of samples; `tests/bench/page.py` judges them.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { decode, encode } from "@msgpack/msgpack";
import { chromium } from "playwright-core";

import { RUNNING, RUNNING_AT, bigDocument } from "./document.mjs";
import { firstLoad } from "../scripts/size.mjs";

const [url, token, size] = process.argv.slice(2);
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];
const LOADS = 5;
const FRAMES = 120;
const MESSAGES = 40;
const ZOOM = 0.6;
const CENTRE = { x: 760, y: 470 };
const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

async function keepDraft(document) {
  const body = JSON.stringify({ document, workflow: null, base: null });
  const answer = await fetch(`${url}/v1/drafts/${crypto.randomUUID()}`, { method: "PUT", headers: { ...headers, "If-None-Match": "*" }, body });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Runs in the page before anything else: long tasks, frames, when nodes were there, and what React rendered. */
function probe() {
  const bench = { longest: 0, ready: 0, frames: [], commits: [] };
  window.bench = bench;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) bench.longest = Math.max(bench.longest, entry.duration);
  }).observe({ type: "longtask", buffered: true });
  const look = () => {
    if (document.querySelector('[data-surface="far"] canvas, .react-flow__node') === null) requestAnimationFrame(look);
    else requestAnimationFrame(() => { bench.ready = performance.now(); });
  };
  requestAnimationFrame(look);
  bench.record = () => {
    bench.frames = [];
    let last = performance.now();
    const tick = (now) => {
      bench.frames.push(now - last);
      last = now;
      bench.tick = requestAnimationFrame(tick);
    };
    bench.tick = requestAnimationFrame(tick);
  };
  // React tells its developer tools of each commit; a function that worked has the flag 1 ("PerformedWork").
  const nodeOf = (fiber) => {
    for (let at = fiber; at !== null; at = at.return) {
      const found = at.stateNode instanceof HTMLElement ? at.stateNode.closest(".react-flow__node") : null;
      if (found !== null) return found.dataset.id;
      if (typeof at.memoizedProps?.id === "string" && at.memoizedProps?.data?.item !== undefined) return at.memoizedProps.id;
      if (at.stateNode instanceof HTMLElement) return "";
    }
    return "";
  };
  const worked = (fiber, found) => {
    const old = fiber.alternate;
    const isFunction = fiber.tag === 0 || fiber.tag === 11 || fiber.tag === 14 || fiber.tag === 15;
    if (isFunction && (fiber.flags & 1) !== 0 && (old === null || old.memoizedProps !== fiber.memoizedProps || old.memoizedState !== fiber.memoizedState)) found.push(nodeOf(fiber));
    if (old !== null && old.child === fiber.child) return;
    for (let child = fiber.child; child !== null; child = child.sibling) worked(child, found);
  };
  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    supportsFiber: true, renderers: new Map(), inject: () => 1, onCommitFiberUnmount() {}, onPostCommitFiberRoot() {},
    onCommitFiberRoot(_, root) {
      if (!bench.isCounting) return;
      const found = [];
      worked(root.current, found);
      bench.commits.push([...new Set(found.filter((id) => id !== ""))]);
    },
  };
}

const read = (page, name) => page.evaluate((key) => window.bench[key], name);
const zoomOf = (page) => page.evaluate(() => new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform).a);
const nextFrames = (page, count) => page.evaluate((left) => new Promise((done) => {
  const tick = () => (left-- > 0 ? requestAnimationFrame(tick) : done());
  tick();
}), count);

/** Times between frames while `step` is done again and again: the browser answers a move of the mouse with its next frame. */
async function frames(page, step) {
  await page.evaluate(() => window.bench.record());
  for (let at = 1; at <= FRAMES; at++) await step(at);
  return page.evaluate(() => {
    cancelAnimationFrame(window.bench.tick);
    return window.bench.frames.slice(2);
  });
}

async function panned(page) {
  await page.mouse.move(CENTRE.x, CENTRE.y);
  await page.mouse.down({ button: "middle" });
  const found = await frames(page, (at) => page.mouse.move(CENTRE.x + Math.sin((at / FRAMES) * 4 * Math.PI) * 500, CENTRE.y + Math.sin((at / FRAMES) * 6 * Math.PI) * 200)); // and back to where it began
  await page.mouse.up({ button: "middle" });
  return found;
}

async function dragged(page) {
  const box = await page.evaluate(({ x, y }) => {
    const inside = [...document.querySelectorAll(".react-flow__node header")].map((one) => one.getBoundingClientRect()).filter((one) => Math.abs(one.x - x) < 500 && Math.abs(one.y - y) < 250);
    return inside.length === 0 ? null : { x: inside[0].x, y: inside[0].y, width: inside[0].width, height: inside[0].height };
  }, CENTRE);
  if (box === null) return [];
  const start = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  const found = await frames(page, (at) => page.mouse.move(start.x + at * 2, start.y + at));
  await page.mouse.up();
  await page.keyboard.press("Control+z");
  return found;
}

async function zoomTo(page, at, wanted) {
  await page.mouse.move(at.x, at.y);
  for (let tries = 0; tries < 200 && (await zoomOf(page)) < wanted; tries++) {
    await page.mouse.wheel(0, -30);
    await nextFrames(page, 2);
  }
  await nextFrames(page, 60);
}

/** Runs the workflow until its first message of progress; from then on only what is told here reaches the page. */
function follow(page) {
  const wire = { socket: null, last: null };
  const isProgress = page.routeWebSocket(/\/v1\/ws/, (socket) => {
    wire.socket = socket;
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (wire.last !== null) return;
      socket.send(message);
      const event = typeof message === "string" ? {} : decode(message);
      if (event.event === "progress" && event.node === RUNNING) wire.last = event;
    });
  });
  wire.tell = (step) => wire.socket.send(Buffer.from(encode({ ...wire.last, step: 1 + (step % 199) })));
  return isProgress.then(() => wire);
}

async function main() {
  await keepDraft(bigDocument(Number(size)));
  const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ARGS });
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(probe);
  const wire = await follow(page);
  await page.goto(`${url}/#token=${token}`);
  await page.waitForFunction(() => window.bench.ready > 0, undefined, { timeout: 60_000 });
  const result = { nodes: Number(size), ready: [], ready_longest: [] };
  for (let load = 0; load < LOADS; load++) {
    await page.reload();
    await page.waitForFunction(() => window.bench.ready > 0);
    result.ready.push(await read(page, "ready"));
    await nextFrames(page, 30);
    result.ready_longest.push(await read(page, "longest"));
  }
  const scripts = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.endsWith(".js")).map((one) => one.name.split("/").at(-1)));
  result.scripts = [...new Set(scripts)];
  result.gzip_bytes = Object.fromEntries(result.scripts.map((name) => [name, gzipSync(readFileSync(join(import.meta.dirname, "../dist/assets", name)), { level: 9 }).length]));
  result.first_bytes = [...firstLoad(join(import.meta.dirname, "../dist")).values()].reduce((all, bytes) => all + bytes, 0);
  await nextFrames(page, 60);
  result.pan_at_fit = await panned(page);
  result.elements_at_fit = await page.evaluate(() => document.querySelectorAll("*").length);
  await zoomTo(page, CENTRE, ZOOM);
  result.zoom = await zoomOf(page);
  result.pan = await panned(page);
  result.elements = await page.evaluate(() => document.querySelectorAll("*").length);
  result.in_view = await page.evaluate(() => [...document.querySelectorAll(".react-flow__node")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  }).length);
  await nextFrames(page, 30);
  result.drag = await dragged(page);
  await page.evaluate(() => { window.bench.longest = 0; });
  await page.keyboard.press(process.env["FIT_KEY"] ?? "Home");
  await nextFrames(page, 60);
  result.fit_longest = [await read(page, "longest")];
  result.fit_zoom = await zoomOf(page);
  await progress(page, wire, result);
  await browser.close();
  console.log(JSON.stringify(result));
}

/** What one message of progress renders, and panning while 50 a second come. */
async function progress(page, wire, result) {
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+Enter");
  for (let waited = 0; wire.last === null && waited < 1800; waited++) await nextFrames(page, 6);
  if (wire.last === null) return;
  await zoomTo(page, await page.evaluate((at) => {
    const shift = new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform);
    const pane = document.querySelector(".react-flow__pane").getBoundingClientRect();
    return { x: pane.x + shift.e + at.x * shift.a, y: pane.y + shift.f + at.y * shift.a };
  }, RUNNING_AT), ZOOM);
  result.running_is_shown = await page.locator(`.react-flow__node[data-id="${RUNNING}"]`).count();
  await page.evaluate(() => { window.bench.isCounting = true; });
  result.rendered = [];
  for (let step = 0; step < MESSAGES; step++) {
    await page.evaluate(() => { window.bench.commits = []; });
    wire.tell(step);
    await nextFrames(page, 4);
    result.rendered.push(await read(page, "commits"));
  }
  await page.evaluate(() => { window.bench.isCounting = false; });
  let step = MESSAGES;
  const timer = setInterval(() => wire.tell(step++), 20);
  result.pan_told = await panned(page);
  clearInterval(timer);
}

await main();
