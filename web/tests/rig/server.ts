/** A real server on a data folder of its own, which may be killed and started again on the same folder and port. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { SERVER_PATIENCE_MS, until } from "./until";

export const ROOT = resolve(import.meta.dirname, "../../..");
export const PYTHON = process.env["LATENTGRAPH_PYTHON"] ?? join(ROOT, ".venv/bin/python");
/** A built page to serve in place of web/dist: `faults/run.mjs` gives one with a fault in it. */
const PAGE = process.env["RIG_PAGE"];
const SERVE = "from server.start import main; main()";
export const PROGRAM = PAGE === undefined ? SERVE : `import os, pathlib; from server.api.routes import page; page.page_folder = lambda: pathlib.Path(os.environ["RIG_PAGE"]); ${SERVE}`;

/** Any JSON the server answers; a test says what it expects of it. */
export type Answer = any; // read by tests, which fail where it is not as they say

export interface NodeOnServer {
  readonly type: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly state?: string;
}

export interface DraftOnServer {
  readonly id: string;
  readonly document: { readonly name?: string; readonly nodes: Readonly<Record<string, NodeOnServer>> };
}

export class Server {
  readonly folder = mkdtempSync(join(tmpdir(), "latentgraph-page-"));
  /** More words of its command line, from the next start on. */
  words: readonly string[] = [];
  url = "";
  token = "";
  #port = "0";
  #process: ChildProcess | undefined;

  /** Start it (again) and wait until it takes jobs. */
  async start(): Promise<this> {
    const log = openSync(join(this.folder, "server.log"), "a");
    const process_ = spawn(PYTHON, ["-c", PROGRAM, "serve", "--json", "--port", this.#port, "--home", join(this.folder, "home"), "--devices", "cpu:0", ...this.words], {
      cwd: ROOT, stdio: ["ignore", "pipe", log], detached: true, env: { ...process.env, OMP_NUM_THREADS: "1", HF_HUB_OFFLINE: "1" },
    });
    closeSync(log);
    this.#process = process_;
    let why = "";
    process_.on("error", (error) => (why = error.message));
    if (process_.stdout === null) throw new Error("the server has no stdout");
    for await (const line of createInterface(process_.stdout)) {
      const said = JSON.parse(line) as { readonly url?: string; readonly token?: string };
      if (said.url === undefined || said.token === undefined) throw new Error(`the server did not start: ${line}\n${this.log()}`);
      this.url = said.url.replace(/\/$/, "");
      this.token = said.token;
      this.#port = new URL(said.url).port;
      break;
    }
    if (this.url === "") throw new Error(`the server did not start: ${why}\n${this.log()}`);
    await until("the server to be ready", async () => (await this.fetch("GET", "/readyz").catch(() => undefined))?.ok, SERVER_PATIENCE_MS);
    return this;
  }

  /** kill -9, of this process alone: what it started goes by itself. */
  async kill(): Promise<void> {
    const ending = this.#process;
    this.#process = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, "exit");
    ending.kill("SIGKILL");
    await ended;
  }

  /** End it with all it started, and remove its folder. It is not asked: it would let a running job end first. */
  async close(): Promise<void> {
    const pid = this.#process?.pid;
    await this.kill();
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing of it is left, as it should be.
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  log(): string {
    return readFileSync(join(this.folder, "server.log"), "utf8");
  }

  /** A request with the token. */
  fetch(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const more = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(this.url + path, { method, headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json", ...headers }, ...more });
  }

  async read(path: string): Promise<Answer> {
    const answer = await this.fetch("GET", path);
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** All drafts with what is in them. */
  async drafts(): Promise<DraftOnServer[]> {
    const { drafts } = await this.read("/v1/drafts");
    return Promise.all((drafts as { id: string }[]).map(async ({ id }) => ({ ...(await this.read(`/v1/drafts/${id}`)), id })));
  }

  /** The nodes of the only draft, or of none. */
  async nodes(): Promise<Readonly<Record<string, NodeOnServer>>> {
    const drafts = await this.drafts();
    if (drafts.length > 1) throw new Error(`${drafts.length} drafts`);
    return drafts[0]?.document.nodes ?? {};
  }

  async jobs(): Promise<{ readonly id: string; readonly state: string }[]> {
    return (await this.read("/v1/jobs"))["jobs"];
  }

  /** Remove all drafts: what the flow before this one left open. */
  async forget(): Promise<void> {
    const { drafts } = await this.read("/v1/drafts");
    for (const { id, etag } of drafts as { id: string; etag: string }[]) await this.fetch("DELETE", `/v1/drafts/${id}`, undefined, { "If-Match": `"${etag}"` });
  }
}
