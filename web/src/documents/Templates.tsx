import { useEffect } from "react";

import type { WorkflowEntry } from "../api/client";
import { refresh, useWorkflows } from "../state/workflows";
import { useTexts } from "../texts";
import { Prose } from "../ui/Prose";
import styles from "./Templates.module.css";
import { Thumbnail } from "./Thumbnail";
import { importFiles, newDocument, openEntry } from "./actions";

const MOST_RECENT = 6;

/** Where one begins: templates, an empty workflow, a file, and what was saved last. */
export function Templates({ onChosen }: { readonly onChosen?: () => void }): React.ReactNode {
  const t = useTexts();
  const entries = useWorkflows((state) => state.entries);
  const problem = useWorkflows((state) => state.problem);
  useEffect(() => void refresh(), []);
  const templates = entries.filter((entry) => entry.source === "template" && entry.problem === null);
  const saved = entries
    .filter((entry) => entry.source !== "template" && entry.problem === null)
    .sort((a, b) => b.modified - a.modified)
    .slice(0, MOST_RECENT);
  const chosen = (step: () => unknown) => () => {
    onChosen?.();
    step();
  };
  return (
    <div className={styles["page"]}>
      <section aria-label={t("documents.templates")}>
        <h2>{t("documents.templates_title")}</h2>
        <p>{t("documents.templates_hint")}</p>
        {problem !== null && entries.length === 0 && <p role="alert">{problem}</p>}
        <ul className={styles["cards"]}>
          {templates.map((entry) => <Card key={entry.name} entry={entry} choose={chosen(() => openEntry(entry))} />)}
          <li>
            <button type="button" className={styles["card"]} onClick={chosen(newDocument)}>
              <span className={styles["sign"]} aria-hidden="true">+</span>
              <strong>{t("documents.start_empty")}</strong>
              <span>{t("documents.start_empty_hint")}</span>
            </button>
          </li>
          <li>
            <button type="button" className={styles["card"]} onClick={chosen(importFiles)}>
              <span className={styles["sign"]} aria-hidden="true">↥</span>
              <strong>{t("documents.start_import")}</strong>
              <span>{t("documents.start_import_hint")}</span>
            </button>
          </li>
        </ul>
      </section>
      {saved.length > 0 && (
        <section aria-label={t("documents.start_saved")}>
          <h2>{t("documents.start_saved")}</h2>
          <ul className={styles["cards"]}>
            {saved.map((entry) => <Card key={entry.name} entry={entry} choose={chosen(() => openEntry(entry))} />)}
          </ul>
        </section>
      )}
    </div>
  );
}

function Card({ entry, choose }: { readonly entry: WorkflowEntry; choose(): void }): React.ReactNode {
  return (
    <li>
      <button type="button" className={styles["card"]} onClick={choose}>
        <Thumbnail name={entry.name} etag={entry.etag} />
        <strong>{entry.source === "template" ? entry.title || entry.name : entry.name}</strong>
        <span><Prose text={entry.description} /></span>
      </button>
    </li>
  );
}
