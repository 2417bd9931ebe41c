import { useEffect, useRef, useState } from "react";

import { type VersionView, listVersions, sentence } from "../api/client";
import type { WorkflowDocument } from "../model/document";
import { activeDocument } from "../state/documents";
import { restore, versionOf } from "../state/workflows";
import { useLanguage, useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/dialogs";
import { say } from "../ui/toasts";
import { Differences } from "./Differences";
import { attempt } from "./actions";
import styles from "./dialogs.module.css";

/** The versions of a saved workflow: compare one, make it the newest. */
export function VersionsDialog({ name }: { readonly name: string }): React.ReactNode {
  const t = useTexts();
  const language = useLanguage((state) => state.language);
  const [versions, setVersions] = useState<readonly VersionView[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [compared, setCompared] = useState<{ readonly version: number; readonly before: WorkflowDocument; readonly after: WorkflowDocument } | null>(null);
  const asked = useRef(0);
  const load = (): void => {
    listVersions(name).then((list) => setVersions(list.versions), (error: unknown) => setProblem(sentence(error)));
  };
  useEffect(load, [name]);
  const current = versions.find((one) => one.current);
  const open = activeDocument();
  const isOpen = open?.workflow === name;
  const compare = (version: number): Promise<boolean> =>
    attempt(async () => {
      const number = ++asked.current;
      const before = await versionOf(name, version);
      const after = isOpen ? open.history.document : await versionOf(name, current?.version ?? version);
      if (number === asked.current) setCompared({ version, before, after }); // not one that was clicked before
    });
  const bringBack = (version: number): Promise<boolean> =>
    attempt(async () => {
      await restore(name, version, current?.etag);
      say(t("documents.restored", { number: version }), { kind: "good" });
      setCompared(null);
      load();
    });
  return (
    <Dialog title={t("documents.versions_title", { name })}>
      {problem !== null && <p role="alert" className={styles["bad"]}>{problem}</p>}
      <ul className={styles["versions"]}>
        {versions.map((one) => (
          <li key={one.version}>
            <strong>{t("documents.version", { number: one.version })}</strong>
            {one.current && <span className={styles["tag"]}>{t("documents.version_current")}</span>}
            <time>{new Date(one.modified * 1000).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" })}</time>
            {(isOpen || !one.current) && (
              <Button aria-pressed={compared?.version === one.version} onClick={() => void compare(one.version)}>
                {t(isOpen ? "documents.compare" : "documents.compare_saved")}
              </Button>
            )}
            {!one.current && <Button onClick={() => void bringBack(one.version)}>{t("documents.restore")}</Button>}
          </li>
        ))}
      </ul>
      {compared !== null && (
        <Differences
          names={[t("documents.version", { number: compared.version }), isOpen ? t("documents.mine") : t("documents.version_current")]}
          before={compared.before}
          after={compared.after}
        />
      )}
      <p className={styles["hint"]}>{t("documents.versions_hint")}</p>
    </Dialog>
  );
}
