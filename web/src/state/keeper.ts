/**
 * Keeps one document on the server as a draft: one request at a time, in this browser until it is acknowledged, again and
 * again while the server is away. Knows nothing of tabs or of React.
 *
 * `want(content)` says what is to be kept now, null that nothing is (it is as it was saved). A draft that somebody else
 * changed is not overwritten: `conflict` is called, and nothing is sent until `settle`.
 */

import { type DraftView, Problem, asDocument, deleteDraft, readDraft, saveDraft, sentence } from "../api/client";
import type { WorkflowDocument } from "../model/document";
import { sameJson } from "../model/same";
import { type Content, dropMirror, keepMirror } from "./mirror";

export type KeepState =
  | "kept"
  /** Changed; it is sent within a second. */
  | "pending"
  /** The server does not answer; it is in this browser, and sent again and again. */
  | "away"
  /** The server does not take it; `detail` says why. */
  | "refused"
  /** Somebody else changed the same draft. */
  | "conflict";

interface Listener {
  report(state: KeepState, detail: string | null): void;
  conflict(theirs: DraftView): void;
}

/** What is known of a draft when it is begun to be kept. */
export interface Known {
  readonly etag: string | null;
  readonly kept: Content | null;
  readonly sent: readonly WorkflowDocument[];
}
export const NOTHING_KNOWN: Known = { etag: null, kept: null, sent: [] };

/** An edit is sent after so long, with all that followed it. */
const SEND_MS = 400;
const FIRST_PAUSE_MS = 500;
const MOST_SENT = 6;
const LONGEST_PAUSE_MS = 10_000;

export class Keeper {
  readonly id: string;
  /** Version of the server's draft; null: none, as far as is known. */
  etag: string | null;
  readonly #listener: Listener;
  /** What the server has. */
  #kept: Content | null;
  #wanted: Content | null;
  #sending = false;
  /** Sent, and not answered: the server may have any one of them. */
  #unanswered: readonly WorkflowDocument[];
  #conflict: DraftView | null = null;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;
  #idle: Promise<void> = Promise.resolve();

  constructor(id: string, listener: Listener, known: Known = NOTHING_KNOWN) {
    this.id = id;
    this.#listener = listener;
    this.etag = known.etag;
    this.#kept = this.#wanted = known.kept;
    this.#unanswered = known.sent;
  }

  /** Whether the server has all that is wanted. */
  get isKept(): boolean {
    return this.#isThere && !this.#sending;
  }

  /** Whether the server has what is wanted, as far as its answers say: a lost one may be of a draft that nobody wants any more. */
  get #isThere(): boolean {
    return sameContent(this.#kept, this.#wanted) && (this.#wanted !== null || this.#unanswered.length === 0);
  }

  get wanted(): Content | null {
    return this.#wanted;
  }

  /** The draft that somebody else wrote over what this one follows on; nothing is sent as long as there is one. */
  get conflict(): DraftView | null {
    return this.#conflict;
  }

  /** Keep this from now on; resolves when this browser has it. */
  want(content: Content | null): Promise<void> {
    if (sameContent(content, this.#wanted)) return Promise.resolve();
    this.#wanted = content;
    const mirrored = this.#mirror();
    if (this.#conflict !== null) return mirrored;
    if (!this.#sending) this.#listener.report("pending", null);
    if (this.#failures === 0) this.#sendIn(SEND_MS);
    return mirrored;
  }

  /** Send now what is not kept: the page is hidden or closed, or the server is back. */
  flush(): Promise<void> {
    this.#failures = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending) return this.#idle;
    this.#idle = this.#send();
    return this.#idle;
  }

  /** After a conflict: whatever the server has is known now and may be replaced by what is wanted. */
  settle(theirs: DraftView, kept: Content | null): void {
    this.#conflict = null;
    this.#unanswered = [];
    this.etag = theirs.etag;
    this.#kept = kept;
    if (kept !== null) this.#wanted = kept;
    void this.flush();
  }

  /** Forget it; nothing more is sent. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #sendIn(ms: number): void {
    if (this.#isStopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (!this.#sending) this.#idle = this.#send();
    }, ms);
  }

  #mirror(): Promise<void> {
    const content = this.#wanted;
    if (content === null || sameContent(content, this.#kept)) return dropMirror(this.id);
    return keepMirror({ id: this.id, ...content, etag: this.etag, sent: this.#unanswered });
  }

  async #send(): Promise<void> {
    if (this.#conflict !== null) return;
    if (this.#isThere) return this.#acknowledged();
    const content = this.#wanted;
    this.#sending = true;
    try {
      await this.#put(content);
      this.#kept = content;
      this.#unanswered = [];
      this.#failures = 0;
    } catch (error) {
      return this.#failed(error, content);
    }
    this.#sending = false;
    this.#acknowledged();
  }

  async #put(content: Content | null): Promise<void> {
    if (content === null) {
      if (this.etag === null && this.#unanswered.length > 0) throw unseen();
      if (this.etag !== null) await deleteDraft(this.id, this.etag);
      this.etag = null;
      return;
    }
    this.#unanswered = remembered(this.#unanswered, content.document);
    void this.#mirror();
    const saved = await saveDraft(this.id, content, this.etag === null ? { create: true } : { match: this.etag });
    this.etag = saved.etag;
  }

  #acknowledged(): void {
    void this.#mirror();
    if (this.isKept) {
      this.#listener.report("kept", null);
    } else {
      this.#listener.report("pending", null);
      this.#sendIn(SEND_MS);
    }
  }

  async #failed(error: unknown, content: Content | null): Promise<void> {
    const problem = error instanceof Problem ? error : null;
    if (problem?.code === "precondition_failed" || problem?.code === "precondition_required") return this.#compare(content, problem);
    this.#sending = false;
    if (problem === null || problem.isPassing) return this.#again(sentence(error), problem?.retryAfterS);
    if (content === null) return this.#letGo();
    this.#unanswered = [];
    this.#listener.report("refused", problem.detail);
  }

  /** What is not wanted any more is gone, or is somebody else's. */
  #letGo(): void {
    this.#kept = null;
    this.#unanswered = [];
    this.etag = null;
    this.#acknowledged();
  }

  #again(detail: string, afterS: number | undefined): void {
    this.#listener.report("away", detail);
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS);
    this.#failures += 1;
    this.#sendIn(afterS === undefined ? pause : afterS * 1000);
  }

  /** The server's draft is another one than we thought: ours after all, gone, or somebody else's. Nothing is sent meanwhile. */
  async #compare(content: Content | null, problem: Problem): Promise<void> {
    let theirs: DraftView;
    try {
      theirs = await readDraft(this.id);
    } catch (error) {
      this.#sending = false;
      if (!(error instanceof Problem) || error.isPassing) return this.#again(sentence(error), undefined);
      if (content === null) return this.#letGo();
      // Gone, or damaged from outside: then there is nothing to lose in it.
      this.etag = error.status === 404 ? null : (error.etag ?? problem.etag ?? null);
      return this.#send();
    }
    this.#sending = false;
    const ours = [...this.#unanswered, content?.document, this.#kept?.document];
    if (ours.some((document) => document !== undefined && sameJson(document, theirs.document))) {
      // An answer of the server was lost, not a change of ours.
      this.etag = theirs.etag;
      this.#kept = contentOf(theirs);
      this.#unanswered = [];
      return this.#send();
    }
    // It was changed by somebody who wants it.
    if (content === null) return this.#letGo();
    this.#conflict = theirs;
    void this.#mirror();
    this.#listener.report("conflict", problem.detail);
    this.#listener.conflict(theirs);
  }
}

/** In place of a refusal: whether there is a draft is not known, so that it has to be looked at. */
function unseen(): Problem {
  return new Problem({ status: 412, code: "precondition_failed", detail: "" });
}

/** The first that were sent, one of which a server that died may have written, and the last. */
function remembered(sent: readonly WorkflowDocument[], document: WorkflowDocument): readonly WorkflowDocument[] {
  if (sent.includes(document)) return sent;
  return sent.length < MOST_SENT ? [...sent, document] : [...sent.slice(0, -1), document];
}

function sameContent(a: Content | null, b: Content | null): boolean {
  if (a === null || b === null) return a === b;
  return a.document === b.document && a.workflow === b.workflow && a.base === b.base && a.closed === b.closed;
}

/** Of a draft whose document is one of ours, so that it needs no reading. */
function contentOf({ document, workflow, base, closed }: DraftView): Content {
  return { document: asDocument(document), workflow, base, closed };
}
