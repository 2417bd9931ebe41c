/**
 * Measures the canvas against its bars: `node scripts/canvas_bench.mjs URL TOKEN [500 2000] [messages]`, on a server with a home
 * of its own. With `messages` the page is told 50 times a second how far one of its nodes is, on a socket that is played here.
 *
 * One JSON line per size: milliseconds until nodes are there, between frames while panning (50 nodes in view, and at fit)
 * and dragging, the longest task while the whole is shown for the first time, the number of elements, and
 * how long the list of nodes takes to open the first time.
 */

import { encode } from "@msgpack/msgpack";
import { chromium } from "playwright-core";

import { bigDocument } from "./big_document.mjs";

const [url, token, ...rest] = process.argv.slice(2);
const sizes = rest.filter((one) => one !== "messages");
const hasMessages = rest.includes("messages");
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

async function only(document) {
  const { drafts } = await (await fetch(`${url}/v1/drafts`, { headers })).json();
  for (const { id, etag } of drafts) await fetch(`${url}/v1/drafts/${id}`, { method: "DELETE", headers: { ...headers, "If-Match": `"${etag}"` } });
  const body = JSON.stringify({ document, workflow: null, base: null });
  const id = crypto.randomUUID();
  const answer = await fetch(`${url}/v1/drafts/${id}`, { method: "PUT", headers: { ...headers, "If-None-Match": "*" }, body });
  if (!answer.ok) throw new Error(await answer.text());
  return id;
}

const JOB = "bench";

/** A run of the document that goes on for ever: what the server would tell of it, 50 times a second. */
async function playMessages(page, draft, document) {
  const ids = Object.keys(document.nodes);
  const told = (event) => Buffer.from(encode({ stream: JOB, epoch: "e", seq: 0, ...event })).toString("base64");
  const snapshot = told({ event: "snapshot", state: "running", seeds: {}, nodes: ids.map((id) => ({ id, type: document.nodes[id].type, state: "running" })) });
  const progress = ids.map((node, at) => told({ event: "progress", node, step: at % 20, total: 20, eta_seconds: 20 - (at % 20) }));
  await page.route(`**/v1/jobs/${JOB}/document`, (route) => route.fulfill({ json: document }));
  await page.addInitScript(({ key, memory, snapshot, progress }) => {
    localStorage.setItem(key, memory);
    window.benchTold = 0;
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
    window.WebSocket = class {
      readyState = 0;
      constructor() {
        setTimeout(() => {
          this.readyState = 1;
          this.onopen?.();
          setTimeout(() => this.onmessage?.({ data: bytes(snapshot) }), 500);
          setInterval(() => {
            this.onmessage?.({ data: bytes(progress[(window.benchTold * 7) % progress.length]) });
            window.benchTold++;
          }, 20);
        });
      }
      send() {}
      close() {}
    };
  }, { key: `latentgraph.runs.${draft}`, memory: JSON.stringify({ jobs: [{ id: JOB, batch: "b", set: {} }], opened: null, sweeps: [] }), snapshot, progress });
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
  const workflow = bigDocument(count);
  const draft = await only(workflow);
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();
  await page.addInitScript(() => {
    window.benchLongest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.benchLongest = Math.max(window.benchLongest, entry.duration);
    }).observe({ type: "longtask", buffered: true });
  });
  if (hasMessages) await playMessages(page, draft, workflow);
  await page.goto(`${url}/#token=${token}`);
  await page.waitForSelector("[data-surface]");
  await page.reload();
  await page.waitForFunction(() => document.querySelector('[data-surface="far"] canvas, .react-flow__node') !== null);
  const result = { nodes: count, messages: hasMessages, ready: Math.round(await page.evaluate(() => performance.now())) };
  await page.waitForTimeout(2000);
  result.firstList = await page.evaluate(async () => {
    document.querySelector("[data-surface]").focus();
    const begun = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true }));
    while (document.querySelector("dialog [role=option]") === null && performance.now() - begun < 5000) await new Promise((resolve) => requestAnimationFrame(resolve));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return Math.round(performance.now() - begun);
  });
  await page.keyboard.press("Escape");
  await page.waitForTimeout(300);
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
  const toldBefore = await page.evaluate(() => ({ told: window.benchTold, at: performance.now() }));
  result.pan = await panned();
  if (hasMessages) {
    const toldAfter = await page.evaluate(() => ({ told: window.benchTold, at: performance.now() }));
    result.perSecond = Math.round(((toldAfter.told - toldBefore.told) / (toldAfter.at - toldBefore.at)) * 1000);
    result.shown = await page.evaluate(() => document.querySelectorAll(".react-flow__node progress").length);
  }
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
