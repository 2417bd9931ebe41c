/** For tests: the routes of drafts and workflows, in memory, behind `fetch`; it can be away, slow, or lose its answers. */

interface Kept {
  readonly document: Record<string, unknown>;
  readonly workflow: string | null;
  readonly base: string | null;
  readonly closed?: boolean;
  readonly etag: string;
}

export class FakeServer {
  readonly drafts = new Map<string, Kept>();
  readonly workflows = new Map<string, Kept>();
  /** No answer at all, and nothing is done. */
  isAway = false;
  /** It answers, but no change comes through. */
  takesNothing = false;
  /** What is asked is done, but the answer does not arrive. */
  losesAnswers = false;
  /** Changes under way at the same time, at most. */
  atOnce = 0;
  readonly #asked: string[] = [];
  #running = 0;
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  #late: ((asked: string) => boolean) | undefined;
  #lateGate: Promise<void> = Promise.resolve();
  #numbers = 0;

  count(method: string): number {
    return this.#asked.filter((one) => one.startsWith(method)).length;
  }

  /** Answer nothing until `release`. */
  hold(): void {
    this.#gate = new Promise((resolve) => { this.#open = resolve; });
  }

  release(): void {
    this.#open();
  }

  /** What is asked is done at once, but the answer to requests like this one comes only after the returned function is called. */
  delay(pattern: RegExp): () => void {
    let release = (): void => {};
    this.#late = (asked) => pattern.test(asked);
    this.#lateGate = new Promise((resolve) => { release = resolve; });
    return () => {
      this.#late = undefined;
      release();
    };
  }

  /** Whether this was asked. */
  wasAsked(pattern: RegExp): boolean {
    return this.#asked.some((one) => pattern.test(one));
  }

  /** What another program writes. */
  put(name: string, document: object): void {
    this.workflows.set(name, this.#kept({ document }));
  }

  readonly fetch = async (where: string, init: RequestInit = {}): Promise<Response> => {
    const method = init.method ?? "GET";
    this.#asked.push(`${method} ${where}`);
    if (this.isAway || (this.takesNothing && method !== "GET")) throw new TypeError("Failed to fetch");
    this.#running += method === "GET" ? 0 : 1;
    this.atOnce = Math.max(this.atOnce, this.#running);
    await this.#gate;
    this.#running -= method === "GET" ? 0 : 1;
    const answer = this.#answer(method, new URL(where, "http://server").pathname.split("/").slice(2), init);
    if (this.#late?.(`${method} ${where}`) === true) await this.#lateGate;
    if (this.losesAnswers) throw new TypeError("Failed to fetch");
    return answer;
  };

  #answer(method: string, [kind = "", id]: string[], init: RequestInit): Response {
    const shelf = kind === "drafts" ? this.drafts : this.workflows;
    if (id === undefined) return this.#list(kind);
    const key = decodeURIComponent(id);
    const found = shelf.get(key);
    if (method === "GET") return found === undefined ? refusal(404, "not_found") : this.#read(kind, key, found);
    const headers = new Headers(init.headers);
    const refused = precondition(found, headers.get("If-Match")?.replaceAll('"', "") ?? null, headers.get("If-None-Match") === "*");
    if (refused !== null) return refused;
    if (method === "DELETE") {
      shelf.delete(key);
      return new Response(null, { status: 204 });
    }
    const body = JSON.parse(String(init.body)) as Record<string, unknown>;
    const kept = this.#kept(kind === "drafts" ? body : { document: body });
    shelf.set(key, kept);
    return json({ id: key, name: key, etag: kept.etag, modified: 1, source: "own" }, kept.etag);
  }

  #kept(body: object): Kept {
    this.#numbers += 1;
    return { workflow: null, base: null, ...(body as { document: Record<string, unknown> }), etag: `e${this.#numbers}` };
  }

  #read(kind: string, id: string, found: Kept): Response {
    return json(kind === "drafts" ? { id, closed: false, ...found, modified: 1 } : found.document, found.etag);
  }

  #list(kind: string): Response {
    if (kind === "drafts") {
      return json({ drafts: [...this.drafts].map(([id, one]) => ({ closed: false, ...one, id, title: "", modified: 1, size_bytes: 1, problem: null })).reverse() });
    }
    return json({ workflows: [...this.workflows].map(([name, one]) => ({ name, etag: one.etag, modified: 1, source: "own", problem: null })) });
  }
}

function precondition(found: Kept | undefined, match: string | null, isNew: boolean): Response | null {
  if (found === undefined) return match === null ? null : refusal(412, "precondition_failed");
  if (isNew) return refusal(412, "precondition_failed", found.etag);
  if (match === null) return refusal(428, "precondition_required", found.etag);
  return match === found.etag ? null : refusal(412, "precondition_failed", found.etag);
}

function refusal(status: number, code: string, etag?: string): Response {
  return new Response(JSON.stringify({ status, code, title: code, type: code, detail: `a sentence on ${code}`, etag }), { status });
}

function json(value: unknown, etag?: string): Response {
  return new Response(JSON.stringify(value), { status: 200, headers: etag === undefined ? {} : { ETag: `"${etag}"` } });
}
