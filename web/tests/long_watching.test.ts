/** What is told of runs and plans while one looks on; in `make test-all` only. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "vitest";

import { openWith, untilKept, workflowOf } from "./rig/document";
import { longFlow } from "./rig/flow";
import { boxOf, button, drag, node, setValue, showPanel, stateOf, untilState } from "./rig/page";
import { ROOT, type Answer } from "./rig/server";
import { until } from "./rig/until";

function mini(inputs: Readonly<Record<string, unknown>>): Answer {
  const document = JSON.parse(readFileSync(join(ROOT, "workflows/mini_text_to_image.json"), "utf8"));
  Object.assign(document.nodes.denoise.inputs, inputs);
  return document;
}

/** Two sums, which take no model; `a`: so that nothing of it is remembered. */
function sums(a: number): Answer {
  return workflowOf(
    { first: { type: "math", inputs: { operation: "add", a, b: 1 } }, second: { type: "math", inputs: { operation: "multiply", a: { link: "first.value" }, b: 2 } } },
    { outputs: { result: { from: "second.value" } }, view: { nodes: { first: { x: 0, y: 0 }, second: { x: 400, y: 0 } } } },
  );
}

longFlow("a run of another tab appears in the queue and the gallery of this one", async (rig) => {
  const one = await openWith(rig, { ...mini({ steps: 2, seed: 501 }), name: "of the other tab" });
  const two = await rig.open();
  await button(two, "New workflow").click();
  await two.getByText("Nothing here yet").waitFor();
  const queue = await showPanel(two, "Queue");
  await button(queue, "Pause the queue").waitFor();
  await button(one, "Run").click();
  const item = queue.getByRole("listitem").filter({ hasText: "of the other tab" });
  await item.getByText("done", { exact: true }).waitFor();
  await button(await showPanel(two, "Gallery"), /^Show large: a large red circle/).waitFor();
  await untilState(one, "save", "done");
});

longFlow("a running node tells its step and the time left, and afterwards how long it took and where", async (rig) => {
  const page = await openWith(rig, mini({ steps: 40, seed: 502 }));
  await button(page, "Run").click();
  const line = node(page, "denoise").locator("[data-state]").first();
  await until("its step and the time left", async () => /^▸?\s*\d+ of 40.* left.*cpu:0/.test(await line.innerText().then((text) => text.replaceAll("\n", " "))));
  await node(page, "denoise").getByRole("progressbar").waitFor();
  await untilState(page, "denoise", "done");
  expect((await line.innerText()).replaceAll("\n", " ")).toMatch(/done.*\d (?:s|ms|min).*cpu:0/);
  await untilState(page, "save", "done");
});

longFlow("states stand on a node while it is what was run, and come back with it", async (rig) => {
  const page = await openWith(rig, sums(503));
  await button(page, "Run").click();
  await untilState(page, "second", "done");
  await setValue(page, "second", "b", "3");
  await untilState(page, "second", "planned");
  expect(await stateOf(page, "first")).toBe("done");
  await node(page, "second").getByText("changed: b").waitFor();
  await page.locator("#canvas").focus();
  await page.keyboard.press("Control+z");
  await untilState(page, "second", "done");
});

longFlow("a plan is asked for by what can change it and never for looks, and a newer edit drops the older question", async (rig) => {
  const { server } = rig;
  const page = await openWith(rig, sums(504));
  const asked: string[] = [];
  const dropped: string[] = [];
  const isPlan = (url: string): boolean => url.endsWith("/v1/workflows/plan");
  page.on("request", (request) => { if (isPlan(request.url())) asked.push(request.postData() ?? ""); });
  page.on("requestfailed", (request) => { if (isPlan(request.url())) dropped.push(request.postData() ?? ""); });
  await untilState(page, "second", "planned");
  const before = asked.length;
  await node(page, "first").locator("header").click();
  await page.keyboard.press("h");
  await untilKept(server, "it to be collapsed", (document) => document.view.nodes.first.collapsed === true);
  const place = await boxOf(node(page, "second").locator("header"));
  await drag(page, node(page, "second").locator("header"), { x: place.x + place.width / 2, y: place.y + 120 });
  await untilKept(server, "it elsewhere", (document) => document.view.nodes.second.y > 60); // sent later than a plan would be
  expect(asked).toHaveLength(before);

  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route(/\/v1\/workflows\/plan$/, async (route) => {
    await held;
    await route.continue().catch(() => undefined); // one that was dropped meanwhile
  });
  await setValue(page, "second", "b", "30");
  await until("the first question", () => asked.length === before + 1);
  await setValue(page, "second", "b", "31");
  await until("the second question", () => asked.length === before + 2);
  await until("the first to be dropped", () => dropped.length === 1);
  expect([dropped[0], asked.at(-1)].map((text) => JSON.parse(text ?? "").workflow.nodes.second.inputs.b)).toEqual([30, 31]);
  answer();
  await untilState(page, "second", "planned");
  await page.unroute(/\/v1\/workflows\/plan$/);
});

longFlow("the plan says how long a run will take and what memory it needs where", async (rig) => {
  const page = await openWith(rig, mini({ steps: 3, seed: 505 }));
  await button(page, "Run").click();
  await untilState(page, "save", "done");
  await setValue(page, "denoise", "steps", "4");
  const plan = await showPanel(page, "Plan");
  await plan.getByText(/^\d+ of 15 nodes run · about \d.*(?:s|ms|min) · \d.*[kMG]B on cpu:0/).waitFor();
});

longFlow("a batch with a random seed draws another one for each job", async (rig) => {
  const { server } = rig;
  const before = new Set((await server.jobs()).map((job) => job.id));
  const page = await openWith(rig, mini({ steps: 1, seed: { random: true } }));
  await button(page, "More ways to run").click();
  await page.getByLabel("Jobs per run").fill("2");
  await page.keyboard.press("Escape");
  await button(page, "Run 2").click();
  const jobs = await until("two jobs to be done", async () => {
    const made = (await server.jobs()).filter((job) => !before.has(job.id));
    return made.length === 2 && made.every((job) => job.state === "done") ? made : null;
  });
  const seeds = await Promise.all(jobs.map(async (job) => (await server.read(`/v1/jobs/${job.id}`)).seeds["denoise.seed"] as number));
  expect(seeds.every(Number.isSafeInteger)).toBe(true);
  expect(seeds[0]).not.toBe(seeds[1]);
});
