/**
 * Applies the faults of `faults.ts` one by one to a copy of the page and runs the one flow that must notice, in chromium on a
 * real server: `node tests/faults/run.mjs [--only PART OF A NAME]...`.
 *
 * Each flow is run on the page without a fault first: if it fails there, it says nothing of its fault. Prints a line per
 * fault and ends with 1 if one is not caught.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { runnerImport } from "vite";

const WEB = resolve(import.meta.dirname, "../..");
const PARTS = ["src", "index.html", "package.json", "tsconfig.json", "vite.config.ts"];
/** With a fault most flows wait in vain: for so long, or for twice as long as the whole flow takes without one. */
const PATIENCE_MS = 15_000;

const wanted = process.argv.slice(2).filter((word) => word !== "--only");
const { module } = await runnerImport(join(WEB, "tests/faults/faults.ts"));
const faults = module.FAULTS.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const copy = mkdtempSync(join(tmpdir(), "latentgraph-faults-"));
for (const part of PARTS) cpSync(join(WEB, part), join(copy, part), { recursive: true });
symlinkSync(join(WEB, "node_modules"), join(copy, "node_modules"));

/** Build the copy; what the builder said if it could not. */
function built() {
  const done = spawnSync(process.execPath, [join(WEB, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], { cwd: copy, encoding: "utf8" });
  return done.status === 0 ? "" : done.stdout + done.stderr;
}

/** Whether the flow passes on what was built, the first line of why not, and how long it took. */
function walked([file, name], patienceMs) {
  const args = [
    join(WEB, "node_modules/vitest/vitest.mjs"), "run", "--config", "vitest.browser.config.ts", "--reporter", "json", `tests/${file}.test.ts`,
    "-t", `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`,
  ];
  const env = { ...process.env, ...(patienceMs && { RIG_PATIENCE_MS: String(patienceMs) }), RIG_PAGE: join(copy, "dist"), LATENTGRAPH_LONG: "1", CI: "1" };
  const done = spawnSync(process.execPath, args, { cwd: WEB, env, encoding: "utf8", maxBuffer: 1 << 26 });
  const told = done.stdout.slice(done.stdout.indexOf('{"numTotalTestSuites"'));
  let results;
  try {
    results = JSON.parse(told).testResults.flatMap((one) => one.assertionResults).filter((one) => one.title === name);
  } catch {
    return { state: "broken", why: (done.stdout + done.stderr).slice(-500) };
  }
  const [result] = results;
  if (result?.status === "passed") return { state: "passed", why: "", ms: result.duration };
  if (result?.status === "failed") return { state: "failed", why: result.failureMessages[0]?.split("\n")[0]?.slice(0, 160) ?? "" };
  return { state: "broken", why: `it was ${result?.status ?? "not found"}. ${done.stderr.slice(-500)}` };
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
    const { state, why } = walked(fault.flow, Math.max(PATIENCE_MS, 2 * soundMs));
    return [{ failed: "caught", passed: "NOT caught", broken: "BROKEN" }[state], why];
  } finally {
    writeFileSync(path, before);
  }
}

let caught = 0;
try {
  const refused = built();
  if (refused !== "") throw new Error(`The page cannot be built as it is:\n${refused}`);
  cpSync(join(copy, "dist"), join(copy, "sound"), { recursive: true });
  for (const fault of faults) {
    const began = Date.now();
    rmSync(join(copy, "dist"), { recursive: true, force: true });
    cpSync(join(copy, "sound"), join(copy, "dist"), { recursive: true });
    const sound = walked(fault.flow);
    const [verdict, why] = sound.state === "passed" ? verdictOn(fault, sound.ms) : ["BROKEN", `the flow fails without the fault: ${sound.why}`];
    caught += verdict === "caught" ? 1 : 0;
    console.log(`${verdict.padEnd(10)} ${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${fault.name} -- ${fault.flow[0]}${why === "" ? "" : `: ${why}`}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${caught} of ${faults.length} faults caught`);
process.exitCode = caught === faults.length ? 0 : 1;
