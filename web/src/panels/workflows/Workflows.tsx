import { useEffect, useState } from "react";

import { type DraftEntry, type WorkflowEntry, workflowFileUrl } from "../../api/client";
import { VersionsDialog } from "../../documents/VersionsDialog";
import {
  attempt, copyEntry, deleteEntry, importFiles, newDocument, openEntry, renameEntry, saveActive, saveActiveAs,
} from "../../documents/actions";
import { MissingTexts } from "../../documents/MissingTexts";
import { useDocuments } from "../../state/documents";
import { discardDraft, openDraft, refresh, useWorkflows } from "../../state/workflows";
import { useLanguage, useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { showDialog } from "../../ui/dialogs";
import styles from "./Workflows.module.css";

/** The saved workflows, the drafts that were closed, and the templates. */
export default function Workflows(): React.ReactNode {
  const t = useTexts();
  const { entries, drafts, isLoaded, problem } = useWorkflows();
  const open = useDocuments((state) => state.open);
  const [text, setText] = useState("");
  useEffect(() => void refresh(), []);
  const found = entries.filter((entry) => fits(entry, text));
  const saved = found.filter((entry) => entry.source !== "template");
  const templates = found.filter((entry) => entry.source === "template");
  const closed = drafts.filter((draft) => !open.some((one) => one.id === draft.id));
  return (
    <div className={styles["panel"]}>
      <div className={styles["buttons"]}>
        <Button label={t("documents.new")} onClick={newDocument}>{t("documents.panel_new")}</Button>
        <Button title={t("documents.import")} onClick={importFiles}>{t("documents.panel_import")}</Button>
        <Button disabled={open.length === 0} onClick={() => void saveActive()}>{t("documents.save")}</Button>
        <Button disabled={open.length === 0} onClick={saveActiveAs}>{t("documents.save_as")}</Button>
      </div>
      <input
        type="search" className={styles["search"]} placeholder={t("documents.search")} aria-label={t("documents.search")}
        value={text} onChange={(event) => setText(event.target.value)}
      />
      {problem !== null && <p role="status" className={styles["bad"]}>{problem}</p>}
      {closed.length > 0 && text === "" && (
        <section>
          <h3>{t("documents.drafts_section")}</h3>
          <ul className={styles["list"]}>{closed.map((draft) => <Draft key={draft.id} draft={draft} />)}</ul>
        </section>
      )}
      <section>
        <h3>{t("documents.saved_section")}</h3>
        {isLoaded && saved.length === 0 && (
          <p className={styles["hint"]}>{text === "" ? t("documents.nothing_saved") : t("documents.nothing_found", { text })}</p>
        )}
        <ul className={styles["list"]}>{saved.map((entry) => <Entry key={entry.name} entry={entry} />)}</ul>
      </section>
      {templates.length > 0 && (
        <section>
          <h3>{t("documents.templates")}</h3>
          <ul className={styles["list"]}>{templates.map((entry) => <Entry key={entry.name} entry={entry} />)}</ul>
        </section>
      )}
    </div>
  );
}

function fits(entry: WorkflowEntry, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/);
  const all = `${entry.name} ${entry.title} ${entry.description} ${entry.inputs.join(" ")}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

function Entry({ entry }: { readonly entry: WorkflowEntry }): React.ReactNode {
  const t = useTexts();
  const language = useLanguage((state) => state.language);
  const [isMore, setMore] = useState(false);
  const isOpen = useDocuments((state) => state.open.some((one) => one.workflow === entry.name && entry.source !== "template"));
  const missing = { types: entry.missing_types ?? [], models: entry.missing_models ?? [] };
  const when = new Date(entry.modified * 1000).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
  const isTemplate = entry.source === "template";
  return (
    <li className={styles["entry"]} data-open={isOpen}>
      <div className={styles["row"]}>
        <button type="button" className={styles["open"]} title={entry.description} onClick={() => void openEntry(entry)}>
          <strong>{entry.name}</strong>
          <span className={styles["facts"]}>
            {entry.nodes === 1 ? t("documents.nodes_one") : t("documents.nodes_count", { count: entry.nodes })}
            {!isTemplate && ` · ${when}`}
            {entry.source === "folder" && ` · ${t("documents.source_folder")}`}
          </span>
        </button>
        <Button kind="quiet" label={t("documents.actions", { name: entry.name })} aria-expanded={isMore} onClick={() => setMore(!isMore)}>⋯</Button>
      </div>
      {isMore && (
        <div className={styles["buttons"]}>
          {!isTemplate && <Button onClick={() => renameEntry(entry)}>{t("documents.rename")}</Button>}
          <Button onClick={() => copyEntry(entry)}>{t("documents.copy")}</Button>
          {!isTemplate && <Button onClick={() => showDialog(<VersionsDialog name={entry.name} />)}>{t("documents.versions")}</Button>}
          <a className={styles["link"]} href={workflowFileUrl(entry.name)} download={`${entry.name}.json`}>
            {t("documents.download")}
          </a>
          {!isTemplate && <Button kind="danger" onClick={() => void deleteEntry(entry)}>{t("documents.delete")}</Button>}
        </div>
      )}
      {entry.problem !== null && <p className={styles["bad"]}>{entry.problem}</p>}
      {(missing.types.length > 0 || missing.models.length > 0) && (
        <div className={styles["warn"]}><MissingTexts {...missing} /></div>
      )}
    </li>
  );
}

function Draft({ draft }: { readonly draft: DraftEntry }): React.ReactNode {
  const t = useTexts();
  const language = useLanguage((state) => state.language);
  const name = draft.workflow === null ? draft.title || t("documents.untitled") : t("documents.draft_of", { name: draft.workflow });
  const when = new Date(draft.modified * 1000).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
  return (
    <li className={styles["entry"]}>
      <div className={styles["row"]}>
        <button type="button" className={styles["open"]} onClick={() => void attempt(() => openDraft(draft.id), name)}>
          <strong>{name}</strong>
          <span className={styles["facts"]}>{when}</span>
        </button>
        <Button kind="quiet" label={`${t("documents.delete_draft")}: ${name}`} onClick={() => void attempt(() => discardDraft(draft))}>×</Button>
      </div>
      {draft.problem !== null && <p className={styles["bad"]}>{draft.problem}</p>}
    </li>
  );
}
