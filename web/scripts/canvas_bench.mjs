/**
 * Measures the canvas against its bars: `node scripts/canvas_bench.mjs URL TOKEN [500 2000]`, on a server with a home of its own.
 *
 * One JSON line per size: milliseconds until nodes are there, between frames while panning (50 nodes in view, and at fit)
 * and dragging, the longest task while the whole is shown for the first time, and the number of elements.
 */

import { chromium } from "playwright-core";

import { bigDocument } from "./big_document.mjs";

const [url, token, ...sizes] = process.argv.slice(2);
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

async function only(document) {
  const { drafts } = await (await fetch(`${url}/v1/drafts`, { headers })).json();
  for (const { id, etag } of drafts) await fetch(`${url}/v1/drafts/${id}`, { method: "DELETE", headers: { ...headers, "If-Match": `"${etag}"` } });
  const body = JSON.stringify({ document, workflow: null, base: null });
  const answer = await fetch(`${url}/v1/drafts/${crypto.randomUUID()}`, { method: "PUT", headers: { ...headers, "If-None-Match": "*" }, body });
  if (!answer.ok) throw new Error(await answer.text());
}

const quantile = (values, part) => Math.round([...values].sort((a, b) => a - b)[Math.floor(values.length * part)] * 10) / 10;
const summary = (values) => ({ p50: quantile(values, 0.5), p95: quantile(values, 0.95), frames: values.length });

/** Times between frames while `step` is done once per frame. */
async function frames(page, start, step, count = 90) {
  await page.mouse.move(start.x, start.y);
  await page.evaluate(() => {
    window.benchFrames = [];
    let last = performance.now();
    const tick = (now) => {
      window.benchFrames.push(now - last);
      last = now;
      window.benchTick = requestAnimationFrame(tick);
    };
    window.benchTick = requestAnimationFrame(tick);
  });
  for (let at = 0; at < count; at++) {
    await step(at);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  }
  return summary(await page.evaluate(() => {
    cancelAnimationFrame(window.benchTick);
    return window.benchFrames.slice(2);
  }));
}

const pan = (page) => async (at) => page.mouse.move(800 + Math.sin(at / 14) * 500, 400 + Math.cos(at / 9) * 200);

async function measure(count) {
  await only(bigDocument(count));
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();
  await page.addInitScript(() => {
    window.benchLongest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.benchLongest = Math.max(window.benchLongest, entry.duration);
    }).observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${url}/#token=${token}`);
  await page.waitForSelector("[data-surface]");
  await page.reload();
  await page.waitForFunction(() => document.querySelector('[data-surface="far"] canvas, .react-flow__node') !== null);
  const result = { nodes: count, ready: Math.round(await page.evaluate(() => performance.now())) };
  await page.waitForTimeout(800);
  const centre = { x: 800, y: 400 };
  const zoom = () => page.evaluate(() => new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform).a);
  const zoomUntil = async (delta, isDone) => {
    await page.mouse.move(centre.x, centre.y);
    for (let tries = 0; !isDone(await zoom()); tries++) {
      if (tries === 200) throw new Error(`the zoom stays at ${await zoom()}`);
      await page.mouse.wheel(0, delta);
      await page.waitForTimeout(30);
    }
  };
  const panned = async () => {
    await page.mouse.move(centre.x, centre.y);
    await page.mouse.down({ button: "middle" });
    const found = await frames(page, centre, pan(page));
    await page.mouse.up({ button: "middle" });
    return found;
  };
  result.panAtFit = await panned();
  result.elementsAtFit = await page.evaluate(() => document.querySelectorAll("*").length);
  await page.mouse.move(centre.x, centre.y);
  await zoomUntil(-60, (now) => now >= 0.6);
  await page.waitForTimeout(1000);
  result.zoom = Math.round((await zoom()) * 100) / 100;
  result.elements = await page.evaluate(() => document.querySelectorAll("*").length);
  result.mounted = await page.evaluate(() => document.querySelectorAll(".react-flow__node").length);
  result.pan = await panned();
  await page.waitForTimeout(300);
  const box = await page.locator(".react-flow__node header").nth(25).boundingBox();
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  result.drag = await frames(page, at, async (step) => page.mouse.move(at.x + step * 2, at.y + step));
  await page.mouse.up();
  await page.waitForTimeout(500);
  await page.evaluate(() => { window.benchLongest = 0; });
  await page.keyboard.press("Escape");
  await zoomUntil(400, (now) => now <= 0.2);
  await page.waitForTimeout(800);
  result.longestGoingFar = Math.round(await page.evaluate(() => window.benchLongest));
  await page.evaluate(() => { window.benchLongest = 0; });
  await zoomUntil(-400, (now) => now >= 0.4);
  await page.waitForTimeout(1200);
  result.longestComingNear = Math.round(await page.evaluate(() => window.benchLongest));
  result.heapMb = Math.round((await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1e6);
  await browser.close();
  return result;
}

for (const size of sizes.length === 0 ? [500, 2000] : sizes.map(Number)) console.log(JSON.stringify(await measure(size)));
