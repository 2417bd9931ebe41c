/**
 * The saved workflows and drafts of the server, and what is done with them: open, save, rename, copy, delete, versions.
 *
 * When the lists are asked for says `current.ts`; an open document whose file was changed by somebody
 * else is loaded again if it has no changes of its own, and asked about if it has.
 */

import { create } from "zustand";

import {
  type DraftEntry,
  Problem,
  type WorkflowEntry,
  copyWorkflow,
  deleteDraft,
  deleteWorkflow,
  listDrafts,
  listWorkflows,
  readDraft,
  readVersion,
  readWorkflow,
  readWorkflowFile,
  renameWorkflow,
  restoreVersion,
  saveWorkflow,
  sentence,
} from "../api/client";
import type { Version } from "../api/client";
import type { WorkflowDocument } from "../model/document";
import { makerOfText } from "../model/foreign";
import { applied } from "../model/history";
import { type Flaw, readDocument } from "../model/read";
import { sameJson } from "../model/same";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { useConflicts } from "./conflicts";
import { type OpenDocument, useDocuments } from "./documents";
import { adopt, isChanged, keeperOf, notClosed, openCopy, openUntitled, takeOver, titleOf, unsentOf, useSaving } from "./saving";

interface Workflows {
  readonly entries: readonly WorkflowEntry[];
  readonly drafts: readonly DraftEntry[];
  readonly isLoaded: boolean;
  /** Why the lists are not current: the server's sentence. */
  readonly problem: string | null;
}

export const useWorkflows = create<Workflows>()(() => ({ entries: [], drafts: [], isLoaded: false, problem: null }));

/** Counted up by every change of our own: a list that was asked for before it says nothing about it. */
let changes = 0;
/** Counts the askings for lists, and which of them was answered last: an older answer that comes after it says nothing. */
let askings = 0;
let answered = 0;

/** A text that is no workflow, and why. */
export class Flawed extends Error {
  constructor(
    readonly text: string,
    readonly flaws: readonly Flaw[],
  ) {
    super(flaws[0]?.message ?? "");
    this.name = "Flawed";
  }
}

/** The document of a text. Throws `Flawed`. */
export function parsed(text: string): WorkflowDocument {
  const found = readDocument(text);
  if ("flaws" in found) throw new Flawed(text, found.flaws);
  return found.document;
}

// The lists.

/** Ask for both lists, or for the drafts alone, and do what follows from them. */
export async function refresh(part: "all" | "drafts" = "all"): Promise<void> {
  const asked = changes;
  const number = ++askings;
  const { isLoaded, problem } = useWorkflows.getState();
  const isAll = part === "all" || !isLoaded || problem !== null;
  try {
    const [told, { drafts }] = await Promise.all([isAll ? listWorkflows() : null, listDrafts()]);
    if (number < answered) return;
    answered = number;
    take(told?.workflows ?? useWorkflows.getState().entries, drafts);
    for (const { id } of useDocuments.getState().open) {
      if (told !== null && asked === changes) await notice(id, told.workflows);
      if (asked === changes) await follow(id, drafts);
    }
  } catch (error) {
    if (number >= answered) useWorkflows.setState({ problem: sentence(error) });
  }
}

function take(workflows: readonly WorkflowEntry[], drafts: readonly DraftEntry[]): void {
  const before = useWorkflows.getState();
  useWorkflows.setState({
    entries: sameJson(before.entries, workflows) ? before.entries : workflows,
    drafts: sameJson(before.drafts, drafts) ? before.drafts : drafts,
    isLoaded: true,
    problem: null,
  });
}

/** The file of an open document may have been changed by somebody else. */
async function notice(id: string, entries: readonly WorkflowEntry[]): Promise<void> {
  const one = find(id);
  if (one === undefined || one.workflow === null) return;
  const entry = entries.find((candidate) => candidate.name === one.workflow);
  if (entry === undefined || entry.source === "template") {
    if (one.base === null) return;
    useDocuments.getState().change(one.id, { base: null, saved: null });
    say(t("documents.file_gone", { name: one.workflow }), { kind: "warn" });
    return;
  }
  if (entry.etag === one.base || entry.etag === "" || entry.problem !== null) return;
  const { asked, putAside } = useConflicts.getState();
  if ([...asked, ...putAside].some((conflict) => conflict.key === fileKey(one.id, entry.etag))) return;
  await compareWithFile(one.id);
}

const fileKey = (id: string, etag: string | null): string => `file:${id}:${etag ?? ""}`;

/** Hold an open document against its file: load it again (`isOurs`: without a word, we changed it), or ask. */
async function compareWithFile(id: string, isOurs = false): Promise<void> {
  const name = find(id)?.workflow ?? null;
  if (name === null) return;
  const answer = await readWorkflow(name);
  const theirs = parsed(answer.value);
  const one = find(id);
  if (one === undefined || one.workflow !== name || one.base === answer.etag) return;
  const { document } = one.history;
  if (sameJson(document, theirs)) {
    useDocuments.getState().change(id, { base: answer.etag, saved: document });
  } else if (!isChanged(one)) {
    replace(id, theirs, answer.etag);
    if (!isOurs) say(t("documents.reloaded", { name }));
  } else {
    const etag = answer.etag;
    const time = useWorkflows.getState().entries.find((entry) => entry.name === name)?.modified ?? Date.now() / 1000;
    useConflicts.getState().ask({
      key: fileKey(id, etag),
      name,
      with: "file",
      mine: () => find(id)?.history.document ?? document,
      theirs,
      time,
      answer: async (choice) => {
        const now = find(id);
        if (now === undefined) return;
        if (choice === "mine") {
          // Mine is kept; Save makes it the newest version, theirs the one before.
          useDocuments.getState().change(id, { base: etag, saved: theirs });
          await save(id);
          return;
        }
        if (choice === "both") openCopy(now.history.document);
        useDocuments.getState().activate(id);
        replace(id, theirs, etag);
      },
    });
  }
}

/** Another content in place of the document, as one step that can be undone. */
function replace(id: string, document: WorkflowDocument, etag: string | null): void {
  useDocuments.getState().apply("documents.took_over", () => document, null, id);
  useDocuments.getState().change(id, { base: etag, saved: document });
}

/** Another page may have edited the same draft; while this one is idle, it shows the same. */
async function follow(id: string, drafts: readonly DraftEntry[]): Promise<void> {
  const keeper = keeperOf(id);
  const entry = drafts.find((draft) => draft.id === id);
  if (keeper === undefined || entry === undefined || entry.problem !== null || !keeper.isKept || keeper.conflict !== null) return;
  if (keeper.etag === null || keeper.etag === entry.etag) return;
  const theirs = await readDraft(id);
  const one = find(id);
  if (one === undefined || keeper !== keeperOf(id) || !keeper.isKept || keeper.etag === null || keeper.etag === theirs.etag) return;
  const isSame = theirs.workflow === one.workflow && theirs.base === one.base && sameJson(theirs.document, one.history.document);
  if (isSame) keeper.etag = theirs.etag; // its tab was closed or opened there
  else takeOver(id, theirs);
}

function find(id: string): OpenDocument | undefined {
  return useDocuments.getState().open.find((one) => one.id === id);
}

// Open.

/** Those being opened: a second click while the first is on its way opens nothing twice. */
const opening = new Map<string, Promise<string>>();

/** Open a saved workflow, its draft if there is one; a template as a new document. Throws `Problem`, `Flawed`. */
export function openWorkflow(name: string, source: WorkflowEntry["source"] = "own"): Promise<string> {
  const key = `${source} ${name}`;
  const found = opening.get(key) ?? openNamed(name, source).finally(() => opening.delete(key));
  opening.set(key, found);
  return found;
}

async function openNamed(name: string, source: WorkflowEntry["source"]): Promise<string> {
  if (source === "template") return openTemplate(name);
  const already = useDocuments.getState().open.find((one) => one.workflow === name);
  if (already !== undefined) {
    useDocuments.getState().activate(already.id);
    return already.id;
  }
  const id = await closedDraftOf(name);
  if (id === undefined) return openSaved(name);
  await openDraft(id);
  say(t("documents.draft_opened", { name }));
  return id;
}

/** The draft of a workflow that was closed with changes, also one that was closed just now. */
async function closedDraftOf(name: string): Promise<string | undefined> {
  const { closed } = useSaving.getState();
  const unsent = closed.find((id) => unsentOf(id)?.workflow === name);
  if (unsent !== undefined) return unsent;
  await refresh("drafts");
  return useWorkflows.getState().drafts.find((one) => one.workflow === name && one.problem === null && (one.closed || closed.includes(one.id)))?.id;
}

/** Open the file of a saved workflow, under this id of a tab if one is given. */
export async function openSaved(name: string, id?: string): Promise<string> {
  const answer = await readWorkflow(name);
  const document = parsed(answer.value);
  const { open, activate, add } = useDocuments.getState();
  const already = open.find((one) => one.workflow === name);
  if (already !== undefined) {
    activate(already.id);
    return already.id;
  }
  return add(document, { ...(id === undefined ? {} : { id }), workflow: name, base: answer.etag, saved: document });
}

export async function openTemplate(name: string, id?: string): Promise<string> {
  return openUntitled(parsed((await readWorkflow(name)).value), name, id);
}

/** Open a draft of the server as a tab. Throws `Problem`, `Flawed`. */
export async function openDraft(id: string): Promise<void> {
  const { activate, add } = useDocuments.getState();
  if (find(id) !== undefined) return activate(id);
  const unsent = unsentOf(id);
  if (unsent !== null) {
    // The server has an older one: what was typed last is here.
    notClosed(id);
    add(unsent.document, { id, workflow: unsent.workflow, base: unsent.base });
    return;
  }
  const draft = await readDraft(id);
  const document = parsed(JSON.stringify(draft.document));
  if (find(id) !== undefined) return activate(id); // asked for twice
  const { workflow, base, closed } = draft;
  adopt(id, { etag: draft.etag, kept: { document, workflow, base, closed }, sent: [] });
  notClosed(id);
  add(document, { id, workflow, base });
}

/** Open a text as a new document: a dropped or pasted file. Throws `Flawed`. */
export function openText(text: string, name = ""): string {
  const maker = makerOfText(text);
  if (maker !== undefined) throw new Error(t("documents.foreign", { maker }));
  const document = parsed(text);
  const called = document.name ?? name.replace(/\.json$/i, "");
  return useDocuments.getState().add(called === "" ? document : { ...document, name: called });
}

export async function discardDraft(entry: DraftEntry): Promise<void> {
  changes += 1;
  await deleteDraft(entry.id, entry.etag);
  notClosed(entry.id);
  await refresh();
}

// Save.

/** What is being saved, by document: one after the other, so that the second follows on the version of the first. */
const savings = new Map<string, Promise<unknown>>();

function inTurn<T>(id: string, step: () => Promise<T>): Promise<T> {
  const turn = (savings.get(id) ?? Promise.resolve()).then(step, step);
  savings.set(id, turn);
  const end = (): void => {
    if (savings.get(id) === turn) savings.delete(id);
  };
  turn.then(end, end);
  return turn;
}

/** Save a document under its name, as a new version. False: there is a question to be answered first. Throws `Problem`. */
export function save(id: string): Promise<boolean> {
  return inTurn(id, () => saveNamed(id));
}

async function saveNamed(id: string): Promise<boolean> {
  const one = find(id);
  if (one === undefined || one.workflow === null) return false;
  try {
    await put(one, one.workflow, one.base === null ? { create: true } : { match: one.base });
    return true;
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "precondition_failed") throw error;
    if (error.etag === undefined) {
      // It was removed meanwhile: saving brings it back.
      await put(one, one.workflow, { create: true });
      return true;
    }
    await compareWithFile(id);
    const now = find(id);
    // Theirs was the same as ours, or somebody is asked.
    return now !== undefined && !isChanged(now);
  }
}

/**
 * Save under a name that is free, or in place of a version that was seen (`over`). The document is that workflow from then
 * on. Throws `Problem`, with `etag` if the name is taken.
 */
export function saveAs(id: string, name: string, over?: string): Promise<void> {
  return inTurn(id, async () => {
    const one = find(id);
    if (one === undefined) return;
    const { document } = one.history;
    const named = document.name === name ? document : { ...document, name };
    await put(one, name, over === undefined ? { create: true } : { match: over }, named);
  });
}

async function put(one: OpenDocument, name: string, version: Version, document = one.history.document): Promise<void> {
  changes += 1;
  const { etag } = await saveWorkflow(name, document, version);
  const documents = useDocuments.getState();
  const now = find(one.id)?.history;
  if (now?.document === one.history.document) {
    documents.change(one.id, { history: applied(now, "documents.named", () => document) }); // as it was sent, to the letter
  } else {
    // What was typed while it was sent stays.
    documents.apply("documents.named", (typed) => (typed.name === document.name ? typed : { ...typed, name }), null, one.id);
  }
  documents.change(one.id, { workflow: name, base: etag, saved: document });
  changes += 1;
  void refresh();
}

// Files.

/** Give a workflow another name; open documents follow. Throws `Problem`. */
export async function rename(name: string, wanted: string, etag: string): Promise<void> {
  changes += 1;
  const answer = await renameWorkflow(name, wanted, etag);
  for (const one of useDocuments.getState().open) {
    if (one.workflow === name) useDocuments.getState().change(one.id, { workflow: wanted, base: answer.etag });
  }
  changes += 1;
  await refresh();
}

export async function copy(name: string, wanted: string): Promise<void> {
  await copyWorkflow(name, wanted);
  await refresh();
}

/** Delete a workflow; an open document of it stays open, without a name. Throws `Problem`. */
export async function remove(name: string, etag: string): Promise<void> {
  changes += 1;
  await deleteWorkflow(name, etag);
  for (const one of useDocuments.getState().open) {
    if (one.workflow === name) useDocuments.getState().change(one.id, { workflow: null, base: null, saved: null });
  }
  changes += 1;
  await refresh();
}

/** The document of an earlier version. Throws `Problem`, `Flawed`. */
export async function versionOf(name: string, version: number): Promise<WorkflowDocument> {
  return parsed((await readVersion(name, version)).value);
}

/** Make an earlier version the newest; an open document without changes shows it. Throws `Problem`. */
export async function restore(name: string, version: number, etag: string | undefined): Promise<void> {
  changes += 1;
  await restoreVersion(name, version, etag);
  changes += 1;
  for (const one of useDocuments.getState().open) if (one.workflow === name) await compareWithFile(one.id, true);
  await refresh();
}

/** The text of a file that is no workflow, and what is wrong with it. */
export async function flawsOf(name: string): Promise<Flawed | null> {
  const { value } = await readWorkflowFile(name);
  const found = readDocument(value);
  return "flaws" in found ? new Flawed(value, found.flaws) : null;
}

/** What the tab's content would be downloaded as. */
export function fileNameOf(one: OpenDocument): string {
  return `${titleOf(one) || t("documents.untitled")}.json`;
}

