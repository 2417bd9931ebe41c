/** Why a node would run, in the server's sentences: which input changed, and what above it. */

import { useEffect, useState } from "react";

import { sentence, whyNode } from "../api/client";
import { activeDocument } from "../state/documents";
import { useTexts } from "../texts";
import styles from "./Why.module.css";

export function Why({ path }: { readonly path: string }): React.ReactNode {
  const t = useTexts();
  const [reasons, setReasons] = useState<readonly string[] | null>(null);
  useEffect(() => {
    const document = activeDocument()?.history.document;
    if (document === undefined) return;
    const abort = new AbortController();
    whyNode({ workflow: document, node: path }, { signal: abort.signal }).then(
      ({ reasons: found }) => {
        if (!abort.signal.aborted) setReasons(found.map((reason) => reason.message));
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setReasons([sentence(error)]);
      },
    );
    return () => abort.abort();
  }, [path]);
  if (reasons === null) return <p className={styles["reasons"]}>{t("run.look_loading")}</p>;
  return (
    <ul className={styles["reasons"]}>
      {reasons.map((reason) => <li key={reason}>{reason}</li>)}
    </ul>
  );
}
