/**
 * Autosave: every open document that is not as it was saved is kept as a draft, within a second of an edit.
 *
 * Watches `state/documents.ts`; one `Keeper` per document does the work. A tab that is closed is kept on until the server
 * has it. Opening it all again is `state/restoring.ts`.
 */

import { create } from "zustand";

import { type DraftView, asDocument } from "../api/client";
import { useSession } from "../api/session";
import type { WorkflowDocument } from "../model/document";
import { sameJson } from "../model/same";
import { type Choice, useConflicts } from "./conflicts";
import { type OpenDocument, newId, useDocuments } from "./documents";
import { type KeepState, Keeper, type Known, NOTHING_KNOWN } from "./keeper";
import { type Content, isMirroring, keepTabs } from "./mirror";

interface Pristine {
  readonly document: WorkflowDocument;
  readonly template: string | null;
}

interface Saving {
  /** By document. */
  readonly states: { readonly [id: string]: { readonly state: KeepState; readonly detail: string | null } };
  /** What a document without a name began as: unchanged, nothing of it needs to be kept. */
  readonly pristine: { readonly [id: string]: Pristine };
  /** Drafts that were closed and not saved. */
  readonly closed: readonly string[];
  /** Whether what was open is open again. */
  readonly isRestored: boolean;
}

export const useSaving = create<Saving>()(() => ({ states: {}, pristine: {}, closed: [], isRestored: false }));

const keepers = new Map<string, Keeper>();

/** Whether something of it would be lost without its draft: it is neither as it was saved nor as it began. */
export function isChanged(one: OpenDocument, pristine: Saving["pristine"] = useSaving.getState().pristine): boolean {
  const { document } = one.history;
  return one.saved === null ? pristine[one.id]?.document !== document : one.saved !== document;
}

/** For components: whether an open document has unsaved changes. Renders again only when that changes. */
export function useIsChanged(id: string): boolean {
  const pristine = useSaving((state) => state.pristine);
  return useDocuments((state) => {
    const one = state.open.find((candidate) => candidate.id === id);
    return one !== undefined && isChanged(one, pristine);
  });
}

function contentOf(one: OpenDocument): Content | null {
  return isChanged(one) ? { document: one.history.document, workflow: one.workflow, base: one.base, closed: false } : null;
}

/** A new document without a name, of which nothing is kept until it is changed. */
export function openUntitled(document: WorkflowDocument, template: string | null = null, id: string = newId()): string {
  useSaving.setState((state) => ({ pristine: { ...state.pristine, [id]: { document, template } } }));
  return useDocuments.getState().add(document, { id });
}

/** What the server and this browser are known to have of a document that is about to be opened. */
export function adopt(id: string, known: Known = NOTHING_KNOWN): Keeper {
  const keeper = new Keeper(id, listenerOf(id), known);
  keepers.set(id, keeper);
  return keeper;
}

export function keeperOf(id: string): Keeper | undefined {
  return keepers.get(id);
}

/** What a closed document was last, as long as the server does not have it: then it is opened from here. */
export function unsentOf(id: string): Content | null {
  const keeper = keepers.get(id);
  return keeper === undefined || keeper.isKept || keeper.conflict !== null ? null : keeper.wanted;
}

/** Begin to watch the open documents; call it once. Stops when the result is called. */
export function startSaving(): () => void {
  areTabsHeld = false;
  const stops = [
    useDocuments.subscribe((state, before) => {
      if (state.open !== before.open) watch(state.open, before.open);
      if (state.open !== before.open || state.active !== before.active) rememberTabs();
    }),
    useSaving.subscribe((state, before) => {
      if (state.closed !== before.closed) rememberTabs();
    }),
    useSession.subscribe(({ state }) => {
      if (state === "open") void saveNow();
    }),
  ];
  const hidden = (): void => {
    if (document.visibilityState === "hidden") void saveNow();
  };
  const now = (): void => void saveNow();
  document.addEventListener("visibilitychange", hidden);
  window.addEventListener("pagehide", now);
  window.addEventListener("online", now);
  watch(useDocuments.getState().open, []);
  return () => {
    stops.forEach((stop) => stop());
    document.removeEventListener("visibilitychange", hidden);
    window.removeEventListener("pagehide", now);
    window.removeEventListener("online", now);
    keepers.forEach((keeper) => keeper.stop());
    keepers.clear();
    remembered = null;
    areTabsHeld = true; // a step that is still under way remembers nothing
    useSaving.setState({ states: {}, pristine: {}, closed: [], isRestored: false });
  };
}

/** Send everything that is not kept now: the connection is back, or the page goes away. */
export async function saveNow(): Promise<void> {
  await Promise.all([...keepers.values()].filter((keeper) => !keeper.isKept).map((keeper) => keeper.flush()));
}

function watch(open: readonly OpenDocument[], before: readonly OpenDocument[]): void {
  const old = new Map(before.map((one) => [one.id, one]));
  for (const one of open) {
    if (old.get(one.id) === one) continue;
    const keeper = keepers.get(one.id) ?? adopt(one.id);
    void keeper.want(contentOf(one));
  }
  const still = new Set(open.map((one) => one.id));
  for (const one of before) if (!still.has(one.id)) closed(one);
}

/** Its tab was closed: the draft stays, and is sent on until the server has it. */
function closed(one: OpenDocument): void {
  useConflicts.getState().withdraw(one.id);
  const content = contentOf(one);
  if (content !== null) useSaving.setState((state) => ({ closed: [...state.closed.filter((id) => id !== one.id), one.id] }));
  const keeper = keepers.get(one.id);
  if (keeper === undefined) return;
  if (content !== null) void keeper.want({ ...content, closed: true });
  if (keeper.conflict !== null) keepClosed(one.id, keeper.conflict);
  else if (keeper.isKept) forget(one.id);
  else void keeper.flush();
}

function forget(id: string): void {
  keepers.get(id)?.stop();
  keepers.delete(id);
  useSaving.setState((state) => {
    const { [id]: _state, ...states } = state.states;
    const { [id]: _pristine, ...pristine } = state.pristine;
    return { states, pristine };
  });
}

/** A draft is open again, or deleted: it is no closed one any more. */
export function notClosed(id: string): void {
  if (!useSaving.getState().closed.includes(id)) return;
  useSaving.setState((state) => ({ closed: state.closed.filter((one) => one !== id) }));
}

/** Whether closing this document would lose something: it is changed, and neither the server nor this browser has it. */
export async function wouldBeLost(id: string): Promise<boolean> {
  const one = useDocuments.getState().open.find((candidate) => candidate.id === id);
  if (one === undefined || contentOf(one) === null) return false;
  const keeper = keepers.get(id);
  if (keeper === undefined) return true;
  if (keeper.isKept || isMirroring()) return false;
  await keeper.flush();
  return !keeper.isKept;
}

type RememberedTabs = Parameters<typeof keepTabs>[0];
/** Panning the canvas changes the open documents sixty times a second, and the tabs never. */
let remembered: RememberedTabs | null = null;
/** While tabs are being opened again, those that were there are what is remembered: the page may be closed in between. */
let areTabsHeld = false;

/** Do this, and remember only what tabs there are when it is done. */
export async function holdTabs<T>(step: () => Promise<T>): Promise<T> {
  areTabsHeld = true;
  try {
    return await step();
  } finally {
    areTabsHeld = false;
    rememberTabs();
  }
}

function rememberTabs(): void {
  if (areTabsHeld) return;
  const { open, active } = useDocuments.getState();
  const { pristine, closed } = useSaving.getState();
  const tabs = open.map((one) => ({
    id: one.id,
    workflow: one.workflow,
    template: pristine[one.id]?.document === one.history.document ? (pristine[one.id]?.template ?? null) : null,
  }));
  const now: RememberedTabs = { tabs, active, closed };
  if (sameJson(now, remembered)) return;
  remembered = now;
  void keepTabs(now);
}

function listenerOf(id: string): ConstructorParameters<typeof Keeper>[1] {
  return {
    report(state, detail) {
      const before = useSaving.getState().states[id];
      if (before?.state !== state || before.detail !== detail) {
        useSaving.setState((all) => ({ states: { ...all.states, [id]: { state, detail } } }));
      }
      if (state === "kept" && !useDocuments.getState().open.some((one) => one.id === id)) forget(id);
    },
    conflict(theirs) {
      const one = useDocuments.getState().open.find((candidate) => candidate.id === id);
      if (one === undefined) return keepClosed(id, theirs);
      useConflicts.getState().ask({
        key: id,
        name: titleOf(one),
        with: "page",
        mine: () => find(id)?.history.document ?? one.history.document,
        theirs: asDocument(theirs.document),
        time: theirs.modified,
        answer: (choice) => settle(id, choice, theirs),
      });
    },
  };
}

function find(id: string): OpenDocument | undefined {
  return useDocuments.getState().open.find((one) => one.id === id);
}

/** A closed document's draft was changed by another page meanwhile: ours becomes a draft of its own. */
function keepClosed(id: string, theirs: DraftView): void {
  const keeper = keepers.get(id);
  const content = keeper?.wanted ?? null;
  if (keeper === undefined || content === null) return;
  const copy = newId();
  useSaving.setState((state) => ({ closed: [...state.closed, copy] }));
  const copied = adopt(copy);
  void copied.want(content);
  void copied.flush();
  keeper.settle(theirs, content);
}

/** What was decided between this page's document and another page's. */
function settle(id: string, choice: Choice, theirs: DraftView): void {
  const one = find(id);
  const keeper = keepers.get(id);
  if (one === undefined || keeper === undefined) return;
  if (choice === "mine") return keeper.settle(theirs, null);
  const documents = useDocuments.getState();
  if (choice === "both") {
    openCopy(one.history.document);
    documents.activate(id);
  }
  takeOver(id, theirs);
}

/** A content as a document of its own, under a name that no other tab has. */
export function openCopy(document: WorkflowDocument): void {
  const { open, add } = useDocuments.getState();
  const taken = new Set(open.map((one) => one.history.document.name));
  const name = document.name ?? "";
  let number = 2;
  while (taken.has(`${name} ${number}`)) number += 1;
  add(name === "" ? document : { ...document, name: `${name} ${number}` });
}

/** Another page's draft in place of the document, as one step that can be undone. */
export function takeOver(id: string, theirs: DraftView): void {
  const documents = useDocuments.getState();
  documents.apply("documents.took_over", () => asDocument(theirs.document), null, id);
  documents.change(id, { workflow: theirs.workflow, base: theirs.base });
  const now = find(id);
  if (now !== undefined) keepers.get(id)?.settle(theirs, contentOf(now));
}

/** What a document is called on the screen; "" for one without a name. */
export function titleOf(one: OpenDocument): string {
  return one.workflow ?? one.history.document.name ?? "";
}
