import { decode, encode } from "@msgpack/msgpack";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Socket, type SocketEvent, type Wire } from "./socket";

class FakeWire implements Wire {
  binaryType = "";
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((message: { readonly data: unknown }) => void) | null = null;
  onclose: ((event: { readonly code: number }) => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];
  isClosed = false;

  send(bytes: Uint8Array): void {
    this.sent.push(decode(bytes) as Record<string, unknown>);
  }
  close(): void {
    this.isClosed = true;
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  tell(event: SocketEvent): void {
    const bytes = encode(event);
    this.onmessage?.({ data: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) });
  }
  lose(code = 1006): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function begun(): { socket: Socket; wires: FakeWire[]; batches: (readonly SocketEvent[])[]; waits: number[]; frame(): void } {
  const wires: FakeWire[] = [];
  const batches: (readonly SocketEvent[])[] = [];
  const waits: number[] = [];
  let pending: (() => void)[] = [];
  const socket = new Socket({
    codec: () => ({ encode, decode }),
    connect: () => {
      const wire = new FakeWire();
      wires.push(wire);
      return wire;
    },
    onEvents: (events) => batches.push(events),
    onOpen: () => {},
    onClose: (_code, wait) => waits.push(wait),
    frame: (run) => pending.push(run),
  });
  socket.start();
  const frame = (): void => {
    const due = pending;
    pending = [];
    due.forEach((run) => run());
  };
  return { socket, wires, batches, waits, frame };
}

const snapshot = (stream: string, seq = 0, epoch = "e1"): SocketEvent => ({ event: "snapshot", stream, seq, epoch, job: stream });

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("the socket", () => {
  it("asks for what is followed once it is open", () => {
    const { socket, wires } = begun();
    socket.follow("all");
    socket.follow("a", true);
    wires[0]!.open();
    expect(wires[0]!.sent).toEqual([
      { do: "subscribe", jobs: "all", since: {} },
      { do: "subscribe", jobs: ["a"], previews: true, since: {} },
    ]);
  });

  it("hands on many messages as one batch per frame", () => {
    const { socket, wires, batches, frame } = begun();
    socket.follow("a");
    wires[0]!.open();
    wires[0]!.tell(snapshot("a"));
    for (let step = 1; step <= 50; step += 1) wires[0]!.tell({ event: "progress", stream: "a", seq: 0, node: "n", step, total: 50 });
    expect(batches).toHaveLength(0);
    frame();
    expect(batches.map((batch) => batch.length)).toEqual([51]);
  });

  it("asks for a new snapshot after a gap and drops what follows it", async () => {
    const { socket, wires, batches, frame } = begun();
    socket.follow("a");
    wires[0]!.open();
    wires[0]!.tell(snapshot("a", 3));
    wires[0]!.tell({ event: "node", stream: "a", seq: 5, node: "n", state: "done" });
    wires[0]!.tell({ event: "node", stream: "a", seq: 6, node: "m", state: "done" });
    await vi.advanceTimersByTimeAsync(0);
    frame();
    expect(batches.flat().map((event) => event.event)).toEqual(["snapshot"]);
    expect(wires[0]!.sent.at(-1)).toEqual({ do: "subscribe", jobs: ["a"], previews: false, since: {} });
  });

  it("goes on from the last number after a break", () => {
    const { socket, wires } = begun();
    socket.follow("a");
    wires[0]!.open();
    wires[0]!.tell(snapshot("a", 3));
    wires[0]!.tell({ event: "node", stream: "a", seq: 4, node: "n", state: "done" });
    wires[0]!.lose();
    vi.advanceTimersByTime(300);
    wires[1]!.open();
    expect(wires[1]!.sent).toEqual([{ do: "subscribe", jobs: ["a"], previews: false, since: { a: "e1-4" } }]);
  });

  it("waits longer after each failure, up to five seconds, and soon again after a success", () => {
    const { wires, waits } = begun();
    for (let tries = 0; tries < 7; tries += 1) {
      wires.at(-1)!.lose();
      vi.advanceTimersByTime(waits.at(-1)!);
    }
    wires.at(-1)!.open();
    wires.at(-1)!.lose();
    expect(waits).toEqual([300, 600, 1200, 2400, 4800, 5000, 5000, 300]);
  });

  it("does not ask again for a job that has ended", () => {
    const { socket, wires } = begun();
    socket.follow("a");
    wires[0]!.open();
    wires[0]!.tell(snapshot("a"));
    wires[0]!.tell({ event: "end", stream: "a", seq: 1, job: "a", state: "done" });
    wires[0]!.lose();
    vi.advanceTimersByTime(300);
    wires[1]!.open();
    expect(wires[1]!.sent).toEqual([]);
  });

  it("takes a connection that says nothing for dead", () => {
    const { wires, waits } = begun();
    wires[0]!.open();
    vi.advanceTimersByTime(15_000);
    expect(wires[0]!.sent).toEqual([{ do: "ping", number: 1 }]);
    vi.advanceTimersByTime(15_000);
    expect(wires[0]!.isClosed).toBe(true);
    expect(waits).toEqual([300]);
  });
});
