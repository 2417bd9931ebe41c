/**
 * At the start: everything that was open is open again, in its order, with what was typed last.
 *
 * A tab is found in the server's drafts, in this browser's mirrors (typed, and not acknowledged by the server), or is a saved
 * workflow or template without changes. A mirror goes first: the server's draft either is what it follows on, or somebody
 * else's, and then the keeper asks (`keeper.ts`).
 */

import { type DraftEntry, Problem, listDrafts, readDraft } from "../api/client";
import { whenSession } from "../api/session";
import { sameJson } from "../model/same";
import { useDocuments } from "./documents";
import { type Mirror, type Tabs, dropMirror, keepMirror, openPages, readMirrors, readTabs, showOpen } from "./mirror";
import { adopt, holdTabs, openCopy, useSaving } from "./saving";
import { openDraft, openSaved, openTemplate } from "./workflows";

/** Opened when there has never been anything in this browser. */
const FIRST = "mini_text_to_image";
/** More drafts than that are listed, and not opened by themselves. */
const MOST_TABS = 40;

/** Open everything again; false if there was nothing. Waits for the server. */
export function restore(): Promise<boolean> {
  return holdTabs(openAll);
}

/** The tab that was shown first, the others behind it; what somebody does meanwhile counts. */
async function openAll(): Promise<boolean> {
  const [tabs, mirrors] = await Promise.all([readTabs(), abandonedMirrors()]);
  showOpen();
  const { drafts } = await patiently(listDrafts);
  const newest = newestById(mirrors);
  const closed = closedOf(tabs, drafts, newest);
  useSaving.setState({ closed });
  const ids = order(tabs, drafts, newest, closed);
  const active = tabs?.active ?? "";
  for (const id of ids.includes(active) ? [active, ...ids.filter((one) => one !== active)] : ids) {
    if (useDocuments.getState().open.some((one) => one.id === id)) continue;
    await behind(id, () => openOne(id, tabs, drafts, newest.get(id)));
  }
  arrange(ids);
  for (const id of closed) await keepClosed(newest.get(id));
  for (const mirror of mirrors) await recover(mirror, newest.get(mirror.id));
  return tabs !== null || drafts.length > 0 || mirrors.length > 0;
}

/** Open a document behind the one that is shown, also if somebody shows another one meanwhile. */
async function behind(id: string, open: () => Promise<void>): Promise<void> {
  let shown = useDocuments.getState().active;
  const stop = useDocuments.subscribe(({ active }) => {
    if (active !== id) shown = active;
  });
  try {
    await open();
  } catch {
    // It stays where it is: in the list of drafts, or of files with what is wrong with them.
  }
  stop();
  const { active, activate } = useDocuments.getState();
  if (active === id && shown !== "") activate(shown);
}

/** Put the tabs into this order; those that somebody opened meanwhile come last. */
function arrange(ids: readonly string[]): void {
  const place = new Map(ids.map((id, at) => [id, at]));
  const placeOf = (id: string): number => place.get(id) ?? ids.length;
  useDocuments.setState(({ open }) => ({ open: [...open].sort((a, b) => placeOf(a.id) - placeOf(b.id)) }));
}

/** `restore`, and at the very first start the shipped workflow. */
export async function restoreOrBegin(): Promise<void> {
  try {
    if (!(await restore())) await patiently(() => openTemplate(FIRST));
  } catch {
    // No such template here: the gallery shows what there is.
  }
  useSaving.setState({ isRestored: true });
}

/** Mirrors of pages that are gone. A page that is going right now may still be shown as open: it is given a moment. */
async function abandonedMirrors(): Promise<readonly Mirror[]> {
  for (let tries = 0; ; tries += 1) {
    const [mirrors, pages] = await Promise.all([readMirrors(), openPages()]);
    if (tries === 5 || !mirrors.some((mirror) => pages.has(mirror.page))) return mirrors.filter((mirror) => !pages.has(mirror.page));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function newestById(mirrors: readonly Mirror[]): ReadonlyMap<string, Mirror> {
  return new Map([...mirrors].reverse().map((mirror) => [mirror.id, mirror]));
}

/** Ids of what was closed and is still there: in other browsers, then in this one. What is a tab here is open here. */
function closedOf(tabs: Tabs | null, drafts: readonly DraftEntry[], mirrors: ReadonlyMap<string, Mirror>): string[] {
  const told = [...drafts.filter((draft) => draft.closed).map((draft) => draft.id).reverse(), ...[...mirrors.values()].filter((mirror) => mirror.closed).map((mirror) => mirror.id)];
  const here = tabs?.closed.filter((id) => drafts.some((draft) => draft.id === id) || mirrors.has(id)) ?? [];
  const shown = new Set(tabs?.tabs.map((tab) => tab.id));
  return [...new Set([...told.filter((id) => !here.includes(id)), ...here])].filter((id) => !shown.has(id));
}

/** Ids of what is to be open: the tabs as they were, then drafts of other browsers, the oldest first. */
function order(tabs: Tabs | null, drafts: readonly DraftEntry[], mirrors: ReadonlyMap<string, Mirror>, closed: readonly string[]): string[] {
  const others = [...[...drafts].reverse().map((draft) => draft.id), ...mirrors.keys()].filter((id) => !closed.includes(id));
  return [...new Set([...(tabs?.tabs ?? []).map((tab) => tab.id), ...others.slice(0, MOST_TABS)])];
}

async function openOne(id: string, tabs: Tabs | null, drafts: readonly DraftEntry[], mirror: Mirror | undefined): Promise<void> {
  const draft = drafts.find((one) => one.id === id);
  if (mirror !== undefined) return openMirror(mirror, draft);
  if (draft !== undefined) return patiently(() => openDraft(id));
  const tab = tabs?.tabs.find((one) => one.id === id);
  if (tab?.workflow != null) await patiently(() => openSaved(tab.workflow ?? "", id));
  else if (tab?.template != null) await patiently(() => openTemplate(tab.template ?? "", id));
}

/** Open what this browser has. Under this page's name first: nothing is lost if it breaks off in between. */
async function openMirror(mirror: Mirror, draft: DraftEntry | undefined): Promise<void> {
  const { id, document, workflow, base } = mirror;
  if (draft !== undefined && draft.etag !== mirror.etag && draft.problem === null) {
    const theirs = await patiently(() => readDraft(id));
    if (sameJson(theirs.document, document)) {
      await patiently(() => openDraft(id));
      return dropMirror(id, mirror.page);
    }
  }
  await keepMirror(mirror);
  adopt(id, { etag: mirror.etag, kept: null, sent: mirror.sent });
  useDocuments.getState().add(document, { id, workflow, base });
  await dropMirror(id, mirror.page);
}

/** The tab was closed before the server had it: it is sent, and listed. */
async function keepClosed(mirror: Mirror | undefined): Promise<void> {
  if (mirror === undefined || useDocuments.getState().open.some((one) => one.id === mirror.id)) return;
  const { id, document, workflow, base } = mirror;
  await adopt(id, { etag: mirror.etag, kept: null, sent: mirror.sent }).want({ document, workflow, base, closed: true });
  await dropMirror(id, mirror.page);
}

/** An older mirror of the same draft, by another page that is gone: if it is another content, a document of its own. */
async function recover(mirror: Mirror, newest: Mirror | undefined): Promise<void> {
  if (newest === undefined || newest === mirror) return;
  if (![newest.document, ...newest.sent].some((document) => sameJson(mirror.document, document))) {
    const { active, activate } = useDocuments.getState();
    openCopy(mirror.document);
    if (active !== "") activate(active);
  }
  await dropMirror(mirror.id, mirror.page);
}

/** Ask again and again while the server is away. */
async function patiently<T>(step: () => Promise<T>): Promise<T> {
  for (let pause = 300; ; pause = Math.min(pause * 2, 5000)) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof Problem) || !error.isPassing) throw error;
      if (error.status === 401) await whenSession();
      else await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
