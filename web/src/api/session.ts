/**
 * Who the page is to the server: the token of the printed link is traded for a cookie that scripts cannot read.
 *
 * `beginSession()` once at the start; whoever needs the server waits with `whenSession()`. A 401 later on closes it, and
 * everything that waits goes on when somebody has opened it again.
 */

import { create } from "zustand";

import { Problem, openSession, readSession } from "./client";
import { listenUnauthorized } from "./http";

interface Session {
  /** "away": the server has not answered yet. */
  readonly state: "asking" | "away" | "open" | "none";
}

export const useSession = create<Session>()(() => ({ state: "asking" }));

const AGAIN_MS = 2000;

/** When it was opened last (`performance.now()`): a 401 to what was sent before says nothing about it. */
let openedAt = 0;
/** Counts the ways it was tried to be opened: an older one that is still waiting gives up. */
let tries = 0;

function open(): void {
  openedAt = performance.now();
  useSession.setState({ state: "open" });
}

/** Trade the token in the address, if there is one, and find out whether there is a session. */
export async function beginSession(): Promise<void> {
  listenUnauthorized((sentAt) => {
    if (sentAt >= openedAt) useSession.setState({ state: "none" });
  });
  window.addEventListener("hashchange", () => {
    const token = takeToken();
    if (token !== null) void trade(token);
  });
  await trade(takeToken());
}

/** The token of the address, which is taken out of it at once: it must not stay in the history. */
export function takeToken(): string | null {
  const parts = new URLSearchParams(location.hash.slice(1));
  const token = parts.get("token");
  if (token === null) return null;
  parts.delete("token");
  const rest = parts.toString();
  history.replaceState(history.state, "", location.pathname + location.search + (rest === "" ? "" : `#${rest}`));
  return token;
}

async function trade(token: string | null): Promise<void> {
  const number = ++tries;
  for (let left: string | null = token; number === tries;) {
    try {
      if (left === null) await readSession();
      else await openSession(left);
      return open();
    } catch (error) {
      if (number !== tries) return;
      const isRefused = error instanceof Problem && (error.status === 401 || !error.isPassing);
      if (isRefused && left === null) return useSession.setState({ state: "none" });
      if (isRefused) left = null; // a link with an old token does no harm to a session that is good
      else {
        useSession.setState({ state: "away" });
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }
}

/** What somebody pasted: the token, or the whole link. Throws `Problem`. */
export async function enter(pasted: string): Promise<void> {
  const text = pasted.trim();
  const found = /[#&]token=([^&\s]+)/.exec(text)?.[1];
  await openSession(found === undefined ? text : decodeURIComponent(found));
  tries += 1;
  open();
}

/** Waits until there is a session. */
export function whenSession(): Promise<void> {
  if (useSession.getState().state === "open") return Promise.resolve();
  return new Promise((resolve) => {
    const stop = useSession.subscribe(({ state }) => {
      if (state !== "open") return;
      stop();
      resolve();
    });
  });
}
