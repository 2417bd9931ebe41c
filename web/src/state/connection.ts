/**
 * Whether the server is there, and the one socket over which it tells what happens.
 *
 * Other stores register for its events (`onSocketEvents`) and for its coming back (`onConnected`).
 */

import { create } from "zustand";

import { Problem, readSession } from "../api/client";
import { ask } from "../api/http";
import { useSession, whenSession } from "../api/session";
import { type Codec, Socket, type SocketEvent, nextFrame, pageWire } from "../api/socket";
import { onceMore } from "../ui/later";

/**
 * connecting: at the start; reconnecting: no answer; restarting: the server said that it stops, or is starting; lost: it
 * does not take this browser's session any more.
 */
export type ConnectionState = "connecting" | "connected" | "reconnecting" | "restarting" | "lost";

interface Connection {
  readonly state: ConnectionState;
  /** When this state began, milliseconds since 1970. */
  readonly since: number;
}

export const useConnection = create<Connection>()(() => ({ state: "connecting", since: Date.now() }));

const GOING_AWAY = 1001;
type Listener = (events: readonly SocketEvent[]) => void;
const listeners = new Set<Listener>();
const openers = new Set<() => void>();

const messagePack = onceMore(() => import("@msgpack/msgpack"));
/** Here before the socket is started. */
let codec: Codec;

export const socket = new Socket({
  connect: pageWire,
  codec: () => codec,
  onEvents: (events) => listeners.forEach((listener) => listener(events)),
  onOpen: () => {
    become("connected");
    openers.forEach((opened) => opened());
  },
  onClose: (code) => void findOut(code),
  frame: nextFrame,
});

export function onSocketEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function onConnected(opened: () => void): () => void {
  openers.add(opened);
  return () => openers.delete(opened);
}

/** Connect, and try at once when the network or the page comes back; until the returned function is called. */
export function connect(): () => void {
  let isOver = false;
  const retry = (): void => socket.retryNow();
  const seen = (): void => {
    if (!document.hidden) retry();
  };
  void whenSession().then(async () => {
    codec = await messagePack();
    if (!isOver) socket.start();
  });
  const stop = useSession.subscribe(({ state }, before) => {
    if (state === "open" && before.state !== "open") retry();
  });
  window.addEventListener("online", retry);
  document.addEventListener("visibilitychange", seen);
  return () => {
    isOver = true;
    stop();
    window.removeEventListener("online", retry);
    document.removeEventListener("visibilitychange", seen);
    socket.stop();
  };
}

function become(state: ConnectionState): void {
  if (useConnection.getState().state !== state) useConnection.setState({ state, since: Date.now() });
}

/** Why the socket closed: the server stops or starts, the session is over, or nobody answers. */
export async function findOut(code: number): Promise<void> {
  const before = useConnection.getState().state;
  if (code === GOING_AWAY) become("restarting");
  else if (before === "connected") become("reconnecting");
  const found = await probe();
  if (found !== null && !socket.isOpen) become(found);
  else if (before === "connecting" && !socket.isOpen) become("reconnecting");
}

async function probe(): Promise<ConnectionState | null> {
  try {
    const health = await ask<{ status: string }>("GET", "/healthz");
    if (health.value.status === "starting") return "restarting";
    await readSession();
    return null;
  } catch (error) {
    return error instanceof Problem && (error.status === 401 || error.status === 403) ? "lost" : null;
  }
}
