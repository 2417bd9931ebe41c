/**
 * The page's one WebSocket (`/v1/ws`): it follows streams, comes back by itself and hands on what was told once per frame.
 *
 * A stream is a job's id or "all". Each begins with a snapshot; what changes it has numbers without gaps, so a gap asks
 * for a new snapshot, and a new connection goes on from the last number. Progress, previews and the queue carry the last
 * number: there is only the latest of them. Knows nothing of what the events mean.
 */

import type { Json } from "../model/document";

/** What the server tells; see `server/jobs/hub.py`. Previews hold bytes besides JSON. */
export interface SocketEvent {
  readonly event: string;
  readonly stream?: string;
  readonly seq?: number;
  readonly epoch?: string;
  readonly job?: string;
  readonly [name: string]: Json | Uint8Array | undefined;
}

/** A member of an event; of which type it is says `server/jobs/hub.py`, whose events these are. */
export function told<T>(event: SocketEvent, name: string): T {
  return event[name] as T;
}

/** The part of `WebSocket` that is used; tests give their own. */
export interface Wire {
  binaryType: string;
  readonly readyState: number;
  onopen: (() => void) | null;
  onmessage: ((message: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number }) => void) | null;
  send(bytes: Uint8Array): void;
  close(): void;
}

/** How messages are written: MessagePack, of which the code comes after the page's own. */
export interface Codec {
  encode(value: unknown): Uint8Array;
  decode(bytes: ArrayBuffer): unknown;
}

export interface SocketOptions {
  connect(): Wire;
  /** Asked for once there is a connection. */
  codec(): Codec;
  /** Everything that came since the last frame, in order. */
  onEvents(events: readonly SocketEvent[]): void;
  onOpen(): void;
  /** It will try again by itself after `waitMs`, unless `stop` is called. */
  onClose(code: number, waitMs: number): void;
  /** Call back once, at the next frame. */
  frame(run: () => void): void;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 5_000;
const PING_MS = 15_000;
const SILENCE_MS = 25_000;
/** Jobs of one command; the server follows 256 and takes commands of 64 KiB. */
const MOST_JOBS_AT_ONCE = 200;
const OPEN = 1;
/** They carry the number of the last change and change nothing that is numbered. */
const UNNUMBERED = new Set(["progress", "preview", "queue"]);

interface Place {
  previews: boolean;
  epoch: string;
  /** Number of the last change that was heard; -1: none, a snapshot is due. */
  seq: number;
}

export class Socket {
  private wire: Wire | null = null;
  private readonly places = new Map<string, Place>();
  /** Streams to be asked for with the next command. */
  private readonly asked = new Set<string>();
  private inbox: SocketEvent[] = [];
  private isFramePending = false;
  private isAskPending = false;
  private isStopped = true;
  private tries = 0;
  private pings = 0;
  private heardAt = 0;
  private pinging: ReturnType<typeof setInterval> | undefined;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: SocketOptions) {}

  get isOpen(): boolean {
    return this.wire?.readyState === OPEN;
  }

  start(): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    this.open();
  }

  /** Try now instead of after the wait, if it is not connected. */
  retryNow(): void {
    if (this.isStopped || this.wire !== null) return;
    clearTimeout(this.waiting);
    this.open();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.waiting);
    clearInterval(this.pinging);
    const wire = this.wire;
    this.wire = null;
    if (wire !== null) {
      wire.onclose = wire.onmessage = wire.onopen = null;
      wire.close();
    }
  }

  /** Follow a stream, or change whether previews of it are wanted. */
  follow(stream: string, previews = false): void {
    const place = this.places.get(stream);
    if (place !== undefined && place.previews === previews) return;
    if (place === undefined) this.places.set(stream, { previews, epoch: "", seq: -1 });
    else place.previews = previews;
    this.ask(stream);
  }

  leave(stream: string): void {
    if (!this.places.delete(stream)) return;
    this.asked.delete(stream);
    this.send({ do: "unsubscribe", jobs: stream === "all" ? "all" : [stream] });
  }

  follows(stream: string): boolean {
    return this.places.has(stream);
  }

  private open(): void {
    const wire = this.options.connect();
    this.wire = wire;
    wire.binaryType = "arraybuffer";
    wire.onmessage = ({ data }) => this.take(data);
    wire.onopen = () => {
      this.tries = 0;
      this.heardAt = performance.now();
      this.pinging = setInterval(() => this.ping(), PING_MS);
      this.options.onOpen();
      for (const stream of this.places.keys()) this.asked.add(stream);
      this.sendAsked();
    };
    wire.onclose = ({ code }) => this.lost(wire, code);
  }

  private lost(wire: Wire, code: number): void {
    if (wire !== this.wire) return;
    wire.onclose = wire.onmessage = wire.onopen = null;
    this.wire = null;
    clearInterval(this.pinging);
    this.hand();
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.tries);
    this.tries += 1;
    if (this.isStopped) return;
    this.waiting = setTimeout(() => this.open(), wait);
    this.options.onClose(code, wait);
  }

  private ping(): void {
    if (this.wire !== null && performance.now() - this.heardAt > SILENCE_MS) {
      const wire = this.wire;
      wire.close(); // a dead network does not answer this either
      this.lost(wire, 1006);
      return;
    }
    this.send({ do: "ping", number: ++this.pings });
  }

  private ask(stream: string): void {
    this.asked.add(stream);
    if (this.isAskPending) return;
    this.isAskPending = true;
    queueMicrotask(() => {
      this.isAskPending = false;
      this.sendAsked();
    });
  }

  private sendAsked(): void {
    if (!this.isOpen) return;
    const streams = [...this.asked];
    this.asked.clear();
    if (streams.includes("all")) this.send({ do: "subscribe", jobs: "all", since: this.since(["all"]) });
    for (const previews of [false, true]) {
      const jobs = streams.filter((stream) => stream !== "all" && this.places.get(stream)?.previews === previews);
      for (let at = 0; at < jobs.length; at += MOST_JOBS_AT_ONCE) {
        const some = jobs.slice(at, at + MOST_JOBS_AT_ONCE);
        this.send({ do: "subscribe", jobs: some, previews, since: this.since(some) });
      }
    }
  }

  private since(streams: readonly string[]): Record<string, string> {
    const found: Record<string, string> = {};
    for (const stream of streams) {
      const place = this.places.get(stream);
      if (place !== undefined && place.seq >= 0 && place.epoch !== "") found[stream] = `${place.epoch}-${place.seq}`;
    }
    return found;
  }

  private send(command: object): void {
    if (this.isOpen) this.wire?.send(this.options.codec().encode(command));
  }

  private take(data: unknown): void {
    this.heardAt = performance.now();
    const event = this.options.codec().decode(data as ArrayBuffer) as SocketEvent; // the server sends maps only
    if (!this.fits(event)) return;
    this.inbox.push(event);
    if (this.isFramePending) return;
    this.isFramePending = true;
    this.options.frame(() => this.hand());
  }

  /** Keep the place in the stream; false for what is of no stream that is followed or comes after a gap. */
  private fits(event: SocketEvent): boolean {
    if (event.event === "pong" || event.event === "hello") return false;
    if (event.event === "error") {
      if (event.job !== undefined) this.places.delete(event.job);
      return true;
    }
    if (event.event === "workflows") return this.places.has("all");
    const stream = event.stream ?? "";
    const place = this.places.get(stream);
    if (place === undefined) return false;
    const seq = event.seq ?? 0;
    if (event.event === "snapshot") {
      place.epoch = event.epoch ?? "";
      place.seq = seq;
      return true;
    }
    if (place.seq < 0) return false;
    if (seq > place.seq + (UNNUMBERED.has(event.event) ? 0 : 1)) {
      place.seq = -1;
      this.ask(stream);
      return false;
    }
    place.seq = Math.max(place.seq, seq);
    if (event.event === "end" && stream !== "all") this.places.delete(stream); // the server leaves it then
    return true;
  }

  private hand(): void {
    this.isFramePending = false;
    if (this.inbox.length === 0) return;
    const events = this.inbox;
    this.inbox = [];
    this.options.onEvents(events);
  }
}

/** At the next animation frame; where none come (a hidden page) after a quarter of a second. */
export function nextFrame(run: () => void): void {
  let isDone = false;
  const once = (): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    run();
  };
  const timer = setTimeout(once, 250);
  const frame = requestAnimationFrame(once);
}

export function pageWire(): Wire {
  const url = new URL("/v1/ws", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(url) as unknown as Wire; // its event types are wider than what is used
}
