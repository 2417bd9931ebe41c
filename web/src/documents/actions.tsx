/** What commands, tabs and the panel do with documents: with dialogs where something is asked, and toasts for refusals. */

import { type WorkflowEntry, listVersions, sentence } from "../api/client";
import { writeDocument } from "../model/canonical";
import { emptyDocument } from "../model/document";
import { type OpenDocument, activeDocument, useDocuments } from "../state/documents";
import { openUntitled, titleOf, useSaving, wouldBeLost } from "../state/saving";
import { Flawed, copy, fileNameOf, flawsOf, openDraft, openText, openWorkflow, remove, rename, restore, save, saveAs } from "../state/workflows";
import { t } from "../texts";
import { showDialog } from "../ui/dialogs";
import { say } from "../ui/toasts";
import { CloseDialog, FlawsDialog, NameDialog, TemplatesDialog, VersionsDialog } from "./later";
import { downloadBlob } from "../ui/download";

/** Do it, and say what went wrong. Whether it went well. */
export async function attempt(step: () => unknown, name = ""): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    if (error instanceof Flawed) showDialog(<FlawsDialog name={name} text={error.text} flaws={error.flaws} />);
    else say(sentence(error), { kind: "bad" });
    return false;
  }
}

// The active document.

export async function saveActive(): Promise<void> {
  const one = activeDocument();
  if (one === undefined) return;
  if (one.workflow === null) return saveActiveAs();
  await attempt(async () => {
    if (await save(one.id)) say(t("documents.saved", { name: one.workflow ?? "" }), { kind: "good" });
  });
}

export function saveActiveAs(): void {
  const one = activeDocument();
  if (one === undefined) return;
  showDialog(
    <NameDialog
      title={t("documents.save_as")}
      action={t("documents.save")}
      initial={one.workflow ?? one.history.document.name ?? ""}
      mayReplace
      submit={async (name, over) => {
        await saveAs(one.id, name, over);
        say(t("documents.saved", { name }), { kind: "good" });
      }}
    />,
  );
}

export function newDocument(): void {
  openUntitled(emptyDocument());
}

/** Close a tab; asks if nothing of its changes is kept anywhere. */
export async function closeTab(id: string): Promise<void> {
  const one = useDocuments.getState().open.find((candidate) => candidate.id === id);
  if (one === undefined) return;
  const close = (): void => useDocuments.getState().close(id);
  if (await wouldBeLost(id)) return void showDialog(<CloseDialog name={shownName(one)} close={close} />);
  close();
  if (!useSaving.getState().closed.includes(id)) return;
  say(t("documents.closed_kept", { name: shownName(one) }), { action: { title: t("documents.reopen_it"), run: () => void attempt(() => openDraft(id)) } });
}

/** What a document is called on the screen, in words. */
export function shownName(one: OpenDocument): string {
  return titleOf(one) || t("documents.untitled");
}

export async function reopenLast(): Promise<void> {
  const id = useSaving.getState().closed.at(-1);
  if (id !== undefined) await attempt(() => openDraft(id));
}

/** Show the next tab (1), or the one before (-1). */
export function stepTab(by: 1 | -1): void {
  const { open, active, activate } = useDocuments.getState();
  const at = open.findIndex((one) => one.id === active);
  const next = open[(at + by + open.length) % open.length];
  if (next !== undefined) activate(next.id);
}

/** Move a tab to a place among the tabs. */
export function moveTab(id: string, to: number): void {
  useDocuments.setState((state) => {
    const one = state.open.find((candidate) => candidate.id === id);
    if (one === undefined || to < 0 || to >= state.open.length || state.open[to] === one) return state;
    const others = state.open.filter((candidate) => candidate !== one);
    return { open: [...others.slice(0, to), one, ...others.slice(to)] };
  });
}

/** Move the active tab by one place. */
export function moveActive(by: 1 | -1): void {
  const { open, active } = useDocuments.getState();
  moveTab(active, open.findIndex((one) => one.id === active) + by);
}

export function showVersions(): void {
  const name = activeDocument()?.workflow;
  if (name != null) showDialog(<VersionsDialog name={name} />);
}

export function showTemplates(): void {
  showDialog(<TemplatesDialog />);
}

// Files of this computer.

/** Let somebody choose files, and open them. */
export function importFiles(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.multiple = true;
  input.onchange = () => void openFiles([...(input.files ?? [])]);
  input.click();
}

async function openFiles(files: readonly File[]): Promise<void> {
  for (const file of files) await attempt(async () => openText(await file.text(), file.name), file.name);
}

export function exportActive(): void {
  const one = activeDocument();
  if (one !== undefined) downloadJson(writeDocument(one.history.document), fileNameOf(one));
}

export function downloadJson(text: string, name: string): void {
  downloadBlob(new Blob([text], { type: "application/json" }), name);
}

// Saved workflows.

export function openEntry(entry: WorkflowEntry): Promise<boolean> {
  return attempt(async () => {
    const flawed = entry.problem === null ? null : await flawsOf(entry.name);
    if (flawed !== null) throw flawed;
    await openWorkflow(entry.name, entry.source);
  }, entry.name);
}

export function renameEntry(entry: WorkflowEntry): void {
  const title = t("documents.rename_title", { name: entry.name });
  const submit = (name: string): Promise<void> => rename(entry.name, name, entry.etag);
  showDialog(<NameDialog title={title} action={t("documents.rename_do")} initial={entry.name} submit={submit} />);
}

export function copyEntry(entry: WorkflowEntry): void {
  const title = t("documents.copy_title", { name: entry.name });
  const submit = (name: string): Promise<void> => copy(entry.name, name);
  showDialog(<NameDialog title={title} action={t("documents.copy_do")} initial={`${entry.name} copy`} submit={submit} />);
}

/** Delete at once: its versions stay, and the toast brings it back. */
export async function deleteEntry({ name, etag }: WorkflowEntry): Promise<void> {
  await attempt(async () => {
    await remove(name, etag);
    say(t("documents.deleted", { name }), { action: { title: t("documents.undo_delete"), run: () => void attempt(() => bringBack(name)) } });
  });
}

async function bringBack(name: string): Promise<void> {
  const newest = (await listVersions(name)).versions[0];
  if (newest !== undefined) await restore(name, newest.version, undefined);
}

