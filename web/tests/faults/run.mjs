/**
 * Applies the faults of `faults.ts` one by one to a copy of the page and runs the one flow that must notice, in chromium on a
 * real server: `node tests/faults/run.mjs [--only WORD]...`; a word is a part of a fault's name, or a file of flows ("long").
 *
 * All these flows are run on the page without a fault first: one that fails there says nothing of its fault. Prints a line
 * per fault and ends with 1 if one is not caught.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { runnerImport } from "vite";

const WEB = resolve(import.meta.dirname, "../..");
const PARTS = ["src", "index.html", "package.json", "tsconfig.json", "vite.config.ts"];
/** With a fault most flows wait in vain: for so long, or for half as long again as the whole flow takes without one. */
const LEAST_PATIENCE_MS = 20_000;

const wanted = process.argv.slice(2).filter((word) => word !== "--only");
const { module } = await runnerImport(join(WEB, "tests/faults/faults.ts"));
const faults = module.FAULTS.filter(({ name, flow: [file] }) => wanted.length === 0 || wanted.some((word) => name.includes(word) || file === word));
const copy = mkdtempSync(join(tmpdir(), "latentgraph-faults-"));
for (const part of PARTS) cpSync(join(WEB, part), join(copy, part), { recursive: true });
symlinkSync(join(WEB, "node_modules"), join(copy, "node_modules"));

/** Build the copy; what the builder said if it could not. */
function built() {
  const done = spawnSync(process.execPath, [join(WEB, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], { cwd: copy, encoding: "utf8" });
  return done.status === 0 ? "" : done.stdout + done.stderr;
}

/** The first line of a failure, and what a locator waited for. */
function saidOf(message) {
  const lines = message.split("\n");
  return [lines[0], lines.find((line) => line.includes("waiting for"))].filter(Boolean).map((line) => line.trim().slice(0, 160)).join(" ");
}

/** Walk these flows of a file on what was built; by name: whether it "passed", why not, and how long it took. */
function walked(file, names, patienceMs) {
  const pattern = names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const args = [join(WEB, "node_modules/vitest/vitest.mjs"), "run", "--config", "vitest.browser.config.ts", "--reporter", "json", `tests/${file}.test.ts`, "-t", `^(${pattern})$`];
  const env = { ...process.env, ...(patienceMs && { RIG_PATIENCE_MS: String(patienceMs) }), RIG_PAGE: join(copy, "dist"), LATENTGRAPH_LONG: "1", CI: "1" };
  const done = spawnSync(process.execPath, args, { cwd: WEB, env, encoding: "utf8", maxBuffer: 1 << 26 });
  const found = new Map(names.map((name) => [name, { state: "not run", why: (done.stdout + done.stderr).trim().slice(-300), ms: 0 }]));
  try {
    const told = JSON.parse(done.stdout.slice(done.stdout.indexOf('{"numTotalTestSuites"')));
    for (const { title, status, failureMessages, duration } of told.testResults.flatMap((one) => one.assertionResults)) {
      if (names.includes(title) && ["passed", "failed"].includes(status)) found.set(title, { state: status, why: saidOf(failureMessages[0] ?? ""), ms: duration });
    }
  } catch {
    // No results: what it printed is shown.
  }
  return found;
}

/** "caught", "NOT caught" or "BROKEN", and what to show beside it. */
function verdictOn(fault, soundMs) {
  const path = join(copy, "src", fault.file);
  const before = readFileSync(path, "utf8");
  if (before.split(fault.old).length !== 2) return ["BROKEN", "its text does not stand there once"];
  try {
    writeFileSync(path, before.replace(fault.old, () => fault.new));
    const refused = built();
    if (refused !== "") return ["BROKEN", refused];
    const [file, name] = fault.flow;
    const { state, why } = walked(file, [name], Math.max(LEAST_PATIENCE_MS, 1.5 * soundMs)).get(name);
    return [{ failed: "caught", passed: "NOT caught" }[state] ?? "BROKEN", why];
  } finally {
    writeFileSync(path, before);
  }
}

let caught = 0;
try {
  const refused = built();
  if (refused !== "") throw new Error(`The page cannot be built as it is:\n${refused}`);
  const files = new Map(faults.map(({ flow: [file] }) => [file, faults.filter((one) => one.flow[0] === file)]));
  const sound = new Map([...files].map(([file, some]) => [file, walked(file, [...new Set(some.map(({ flow: [, name] }) => name))])]));
  for (const fault of faults) {
    const began = Date.now();
    const [file, name] = fault.flow;
    const without = sound.get(file).get(name);
    const [verdict, why] = without.state === "passed" ? verdictOn(fault, without.ms) : ["BROKEN", `without the fault the flow is ${without.state}: ${without.why}`];
    caught += verdict === "caught" ? 1 : 0;
    console.log(`${verdict.padEnd(10)} ${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${fault.name} -- ${file}${why === "" ? "" : `: ${why}`}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${caught} of ${faults.length} faults caught`);
process.exitCode = caught === faults.length ? 0 : 1;
