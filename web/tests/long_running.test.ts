/** Ways through running a workflow: what is planned, sent, waited for, drawn and looked at; in `make test-all` only. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

import { openWith, workflowOf } from "./rig/document";
import { longFlow } from "./rig/flow";
import { button, node, nodesShown, setValue, showPanel, untilState } from "./rig/page";
import { ROOT, type Answer, type Server } from "./rig/server";
import { until } from "./rig/until";

/** No flow takes a seed of another: what is remembered on the server stays from one to the next. */
let lastSeed = 1000;

function newSeed(): number {
  lastSeed += 10;
  return lastSeed;
}

/** The mini workflow with two steps only. */
function mini(seed: Answer = newSeed(), prompt = "a large red circle on a blue background"): Answer {
  const document = JSON.parse(readFileSync(join(ROOT, "workflows/mini_text_to_image.json"), "utf8"));
  Object.assign(document.nodes.denoise.inputs, { seed, steps: 2 });
  document.nodes.tokens.inputs.prompt = prompt;
  return document;
}

/** A workflow of nodes alone: numbers and texts, which take no model. */
function small(nodes: Answer, outputs: Readonly<Record<string, string>>): Answer {
  const named = Object.fromEntries(Object.entries(outputs).map(([name, from]) => [name, { from }]));
  return workflowOf(nodes, { outputs: named });
}

/** The jobs that came since, oldest first. */
async function jobsAfter(server: Server, before: readonly { readonly id: string }[]): Promise<Answer[]> {
  const known = new Set(before.map((job) => job.id));
  return (await server.jobs()).filter((job) => !known.has(job.id)).reverse();
}

async function jobsDone(server: Server, before: readonly { readonly id: string }[], count: number): Promise<Answer[]> {
  return until(`${count} jobs to be done`, async () => {
    const jobs = await jobsAfter(server, before);
    return jobs.length >= count && jobs.every((job) => job.state === "done") ? jobs : undefined;
  });
}

/** The ids of the nodes that a job had a part in. */
async function nodesOf(server: Server, job: string): Promise<string[]> {
  return (await server.read(`/v1/jobs/${job}`)).nodes.map((row: Answer) => row.id);
}

async function seedOf(server: Server, job: string): Promise<Answer> {
  return (await server.read(`/v1/jobs/${job}/document`)).nodes.denoise.inputs.seed;
}

/** The menu of a node, opened as a mouse does. */
async function chooseOn(page: Page, id: string, title: string): Promise<void> {
  await node(page, id).locator("header").click({ button: "right" });
  await page.getByRole("menuitem", { name: title }).click();
}

function widthOf(picture: Locator): Promise<number> {
  return picture.evaluate((img) => (img as HTMLImageElement).naturalWidth);
}

/** What is drawn, as text to compare. */
function pixelsOf(picture: Locator): Promise<string> {
  return picture.evaluate((img) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 64;
    canvas.getContext("2d")?.drawImage(img as HTMLImageElement, 0, 0);
    return canvas.toDataURL();
  });
}

async function setCount(page: Page, count: number): Promise<void> {
  await button(page, "More ways to run").click();
  await page.getByLabel("Jobs per run").fill(String(count));
  await page.keyboard.press("Escape");
}

/** The jobs in a part of the queue panel, as they stand there. */
function listed(queue: Locator, part: string): Locator {
  return queue.getByRole("region", { name: part }).getByRole("listitem");
}

function idsOf(items: Locator): Promise<(string | null)[]> {
  return items.evaluateAll((all) => all.map((one) => one.getAttribute("data-job")));
}

longFlow("a run up to a node computes what that node needs and nothing below it", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const page = await openWith(rig, mini());
  await chooseOn(page, "denoise", "Run up to here");
  await untilState(page, "denoise", "done");
  const [job] = await jobsDone(server, before, 1);
  expect(job.targets).toEqual(["denoise"]);
  const ran = await nodesOf(server, job.id);
  expect(ran).toEqual(expect.arrayContaining(["denoise", "tokens", "negative_pad"]));
  expect(ran).not.toContain("decode");
  expect(ran).not.toContain("save");
  expect((await server.read("/v1/outputs")).outputs.filter((one: Answer) => one.job === job.id)).toEqual([]);
});

longFlow("a run of one output computes that output alone", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const page = await openWith(rig, small({
    grid: { type: "size", inputs: { width: 96, height: 64 } },
    sum: { type: "math", inputs: { operation: "add", a: 1, b: newSeed() } },
  }, { sum: "sum.value" }));
  await chooseOn(page, "grid", "Run this output");
  await button(page.getByRole("dialog", { name: "Which output?" }), "height").click();
  await jobsDone(server, before, 1);
  const [job] = await jobsAfter(server, before);
  expect(job.targets).toEqual(["grid.height"]);
  expect(await nodesOf(server, job.id)).toEqual(["grid"]);
});

longFlow("an edit marks what is below it at once, and the plan then says what is cached, what runs and which input changed", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const page = await openWith(rig, mini());
  await button(page, "Run").click();
  await untilState(page, "save", "done");

  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route(/\/v1\/workflows\/plan$/, async (route) => {
    await held;
    await route.continue();
  });
  await setValue(page, "denoise", "steps", "3");
  await untilState(page, "denoise", "stale");
  await untilState(page, "decode", "stale");
  await untilState(page, "save", "stale");
  await untilState(page, "encode", "done", "cached");

  answer();
  await untilState(page, "denoise", "planned");
  await node(page, "denoise").getByText("changed: steps").waitFor();
  await node(page, "decode").getByText("will run").waitFor();
  const plan = await showPanel(page, "Plan");
  const line = (id: string): Locator => plan.getByRole("row").filter({ has: button(plan.page(), id) });
  await plan.getByText(/^\d+ of 15 nodes run · about /).waitFor();
  await line("denoise").getByText("will run").waitFor();
  await line("keep").getByText("cached").waitFor();
  await button(line("denoise"), "Why?").click();
  await line("denoise").getByText(/steps/).first().waitFor();

  await button(page, "Run").click();
  await jobsDone(server, before, 2);
  await untilState(page, "save", "done");
  await untilState(page, "keep", "cached");
});

longFlow("an error stands on its node and leads to the job's record", async (rig) => {
  const { server } = rig;
  const page = await openWith(rig, small({
    first: { type: "math", inputs: { operation: "divide", a: newSeed(), b: 0 } },
    second: { type: "math", inputs: { operation: "add", a: { link: "first.value" }, b: 1 } },
  }, { sum: "second.value" }));
  await button(page, "Run").click();
  await untilState(page, "first", "failed");
  await untilState(page, "second", "skipped");
  await node(page, "first").getByText(/b = 0 has no result; set b to another number/).waitFor();
  await button(node(page, "first"), "Show in log").click();
  const queue = page.getByRole("complementary", { name: "Queue" });
  const [job] = await server.jobs();
  const item = listed(queue, "Ended").first();
  expect(await item.getAttribute("data-job")).toBe(job?.id);
  await item.getByText(/b = 0 has no result/).first().waitFor();
  await button(item, /^first: /).click();
  await page.locator('.react-flow__node.selected[data-id="first"]').waitFor();
});

longFlow("a picture, a number, a text and a shape are looked at in place after a run, and nothing is published for it", async (rig) => {
  const { server } = rig;
  const document = mini();
  Object.assign(document.nodes, {
    sum: { type: "math", inputs: { operation: "add", a: 40, b: 2.5 } },
    words: { type: "text", inputs: { value: "words to look at" } },
  });
  Object.assign(document.outputs, { sum: { from: "sum.value" }, words: { from: "words.value" } });
  document.view.nodes.sum = { x: 0, y: 760 };
  document.view.nodes.words = { x: 288, y: 760 };
  const page = await openWith(rig, document);
  await button(page, "Run").click();
  await untilState(page, "save", "done");
  const published = (await server.read("/v1/outputs")).outputs.length;
  const look = async (id: string, name: string): Promise<Locator> => {
    await button(node(page, id), `Look at ${name}`).click();
    return page.getByRole("dialog", { name: `Look at ${name}` });
  };
  const picture = (await look("decode", "image")).getByRole("img", { name: "What decode.image holds" });
  await until("the picture to be drawn", async () => (await widthOf(picture)) === 64);
  await page.keyboard.press("Escape");
  await (await look("sum", "value")).getByText("42.5", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await (await look("words", "value")).getByText("words to look at", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await (await look("denoise", "latents")).getByText(/\d+ × \d+ × \d+/).first().waitFor();
  expect((await server.read("/v1/outputs")).outputs).toHaveLength(published);
});

longFlow("the queue is paused, put in order, thinned out and cleared, and goes on", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const seed = newSeed();
  const page = await openWith(rig, mini(seed));
  const queue = await showPanel(page, "Queue");
  await button(queue, "Pause the queue").click();
  await queue.getByText("Paused: what runs goes on, and nothing new starts.").waitFor();
  try {
    await setCount(page, 4);
    await button(page, "Run 4").click();
    const waiting = listed(queue, "Waiting");
    await until("four jobs to wait", async () => (await waiting.count()) === 4);
    const order = async (): Promise<string[]> => (await server.read("/v1/queue")).order;
    const [a, b, c, d] = (await jobsAfter(server, before)).map((job) => job.id);
    expect(await idsOf(waiting)).toEqual([a, b, c, d]);

    await button(queue.locator(`[data-job="${c}"]`), "Earlier").click();
    await until("the third to be second", async () => (await order()).join() === [a, c, b, d].join());
    await until("the page to show it", async () => (await idsOf(waiting)).join() === [a, c, b, d].join());
    await button(queue.locator(`[data-job="${a}"]`), "Later").click();
    await until("the first to be second", async () => (await order()).join() === [c, a, b, d].join());
    await button(queue.locator(`[data-job="${b}"]`), "Cancel").click();
    await until("one to be gone", async () => (await order()).join() === [c, a, d].join());
    await listed(queue, "Ended").and(queue.locator(`[data-job="${b}"]`)).getByText("cancelled", { exact: true }).waitFor();

    await button(queue, "Go on").click();
    const state = async (id: string): Promise<string> => (await server.read(`/v1/jobs/${id}`)).state;
    await until("the others to be done", async () => (await Promise.all([a, c, d].map(state))).every((one) => one === "done"));
    expect(await state(b)).toBe("cancelled");
    const started = await Promise.all([c, a, d].map(async (id) => (await server.read(`/v1/jobs/${id}`)).started as number));
    expect(started).toEqual(started.toSorted((x, y) => x - y));

    await button(queue, "Pause the queue").click();
    await queue.getByText("Paused: what runs goes on, and nothing new starts.").waitFor();
    await setCount(page, 2);
    await button(page, "Run 2").click();
    await until("two jobs to wait", async () => (await waiting.count()) === 2);
    await button(queue, "Clear this page's waiting jobs").click();
    await until("both to be cancelled", async () => (await jobsAfter(server, before)).slice(4).map((job) => job.state).join() === "cancelled,cancelled");
    await until("none to stand there", async () => (await waiting.count()) === 0);
  } finally {
    await server.fetch("POST", "/v1/queue/resume", {});
  }
});

longFlow("a job of another client appears in the queue and is opened as a run", async (rig) => {
  const { server } = rig;
  const page = await openWith(rig, mini());
  const queue = await showPanel(page, "Queue");
  await queue.getByRole("button", { name: "Pause the queue" }).waitFor();
  const seed = newSeed();
  const document = { ...mini(seed, "a small green ring on a white background"), name: "of a script" };
  const answer = await server.fetch("POST", "/v1/jobs", { workflow: document, client: "night script" });
  const { id } = (await answer.json()) as { id: string };
  const item = queue.locator(`[data-job="${id}"]`);
  await item.getByText("of a script").waitFor();
  await item.getByText(/from night script/).waitFor();
  await item.getByText("done", { exact: true }).waitFor();
  await button(item, "Open as run").click();
  await button(node(page, "tokens"), "prompt: a small green ring on a white background").waitFor();
  await button(node(page, "denoise"), `seed: ${seed}`).waitFor();
  await untilState(page, "save", "done");
  await button(node(page, "decode"), "Look at image").waitFor();
});

longFlow("each change runs by itself while that is wished, and no longer", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const page = await openWith(rig, mini());
  const onChange = async (isWished: boolean): Promise<void> => {
    await button(page, "More ways to run").click();
    await page.getByLabel("Run on change").setChecked(isWished);
    await page.keyboard.press("Escape");
  };
  await onChange(true);
  const seed = newSeed();
  await setValue(page, "denoise", "seed", String(seed));
  const [job] = await jobsDone(server, before, 1);
  expect(await seedOf(server, job.id)).toBe(seed);
  await untilState(page, "save", "done");

  await onChange(false);
  await setValue(page, "denoise", "seed", String(newSeed()));
  await untilState(page, "denoise", "planned");
  await button(page, "Run").click();
  await jobsDone(server, before, 2); // it takes longer than a change is waited for
  await untilState(page, "save", "done");
  expect(await jobsAfter(server, before)).toHaveLength(2);
});

longFlow("a drawn seed is shown, and kept it gives the same picture without computing it again", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const page = await openWith(rig, mini({ random: true }));
  await button(node(page, "denoise"), "seed: random").waitFor();
  await button(page, "Run").click();
  const [job] = await jobsDone(server, before, 1);
  const drawn = job.seeds["denoise.seed"] as number;
  expect(Number.isSafeInteger(drawn)).toBe(true);
  await node(page, "denoise").getByText(`last run: ${drawn}`).waitFor();
  expect((await server.nodes())["denoise"]?.inputs?.["seed"]).toEqual({ random: true });

  await button(node(page, "denoise"), "Keep this seed").click();
  await until("the seed in the document", async () => (await server.nodes())["denoise"]?.inputs?.["seed"] === drawn);
  const plan = await showPanel(page, "Plan");
  await plan.getByRole("row").filter({ has: button(page, "denoise") }).getByText("cached").waitFor();
  await button(page, "Run").click();
  const [, again] = await jobsDone(server, before, 2);
  const rows = (await server.read(`/v1/jobs/${again.id}`)).nodes;
  expect(rows.find((row: Answer) => row.id === "denoise").state).toBe("cached");
});

longFlow("three jobs at once with a fixed seed take it and the two after it", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const seed = newSeed();
  const page = await openWith(rig, mini(seed));
  await setCount(page, 3);
  await button(page, "Run 3").click();
  const jobs = await jobsDone(server, before, 3);
  expect(await Promise.all(jobs.map((job) => seedOf(server, job.id)))).toEqual([seed, seed + 1, seed + 2]);
  expect((await server.nodes())["denoise"]?.inputs?.["seed"]).toBe(seed);
});

longFlow("what is run while the server is down is sent once when it is back, from the page that asked and from the next", async (rig) => {
  const { server, open } = rig;
  const before = await server.jobs();
  const first = newSeed();
  const page = await openWith(rig, mini(first));
  await server.kill();
  await button(page, "Run").click();
  await page.getByText(/^Not accepted yet: The server does not answer/).waitFor();
  await server.start();
  await jobsDone(server, before, 1);
  await untilState(page, "save", "done");

  const second = newSeed();
  await setValue(page, "denoise", "seed", String(second));
  await until("the draft", async () => (await server.nodes())["denoise"]?.inputs?.["seed"] === second);
  await server.kill();
  await button(page, "Run").click();
  await page.getByText(/^Not accepted yet: The server does not answer/).waitFor();
  await page.close();
  await server.start();
  const next = await open();
  await nodesShown(next);
  const jobs = await jobsDone(server, before, 2);
  await untilState(next, "save", "done");
  expect(await Promise.all(jobs.map((job) => seedOf(server, job.id)))).toEqual([first, second]);
  expect(await jobsAfter(server, before)).toHaveLength(2);
});

longFlow("the picture of a run stands on its node without a click, is marked old by an edit and opens large", async (rig) => {
  const page = await openWith(rig, mini());
  await button(page, "Run").click();
  const picture = button(node(page, "save"), "Picture of save");
  await picture.waitFor();
  await until("the picture to be drawn", async () => (await widthOf(picture.locator("img"))) > 0);
  await setValue(page, "denoise", "steps", "3");
  await button(node(page, "save"), "Picture of save, before the change").waitFor();
  await page.keyboard.press("Control+z");
  await picture.click();
  await page.getByRole("dialog").getByRole("img").first().waitFor();
});

longFlow("a mapped node says how many elements it made, and each is looked at", async (rig) => {
  const { server } = rig;
  const before = await server.jobs();
  const document = JSON.parse(readFileSync(join(ROOT, "workflows/mini_prompt_grid.json"), "utf8"));
  document.nodes.denoise.inputs.steps = 1;
  document.nodes.guidances.inputs.written = "0, 2";
  document.nodes.seeds.inputs.first = newSeed();
  const page = await openWith(rig, document);
  await button(page, "Run").click();
  await untilState(page, "save", "done");
  const [job] = await jobsDone(server, before, 1);
  const rows = (await server.read(`/v1/jobs/${job.id}`)).nodes;
  expect(rows.find((row: Answer) => row.id === "denoise").elements.total).toBe(8);
  await node(page, "denoise").getByText("8 of 8 elements").waitFor();
  await button(node(page, "decode"), "Look at image").click();
  const dialog = page.getByRole("dialog", { name: "Look at image" });
  const picture = dialog.getByRole("img", { name: "What decode.image holds" });
  await dialog.getByText("Element 1 of 8").waitFor();
  await until("the first to be drawn", async () => (await widthOf(picture)) === 64);
  const first = await pixelsOf(picture);
  await button(dialog, "Next").click();
  await dialog.getByText("Element 2 of 8").waitFor();
  await until("the second to be another", async () => (await widthOf(picture)) === 64 && (await pixelsOf(picture)) !== first);
  await button(dialog, "Previous").click();
  await until("the first to be back", async () => (await pixelsOf(picture)) === first);
});
