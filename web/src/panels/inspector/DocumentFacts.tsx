/** The document: its name, what it is for, its form. */

import type { ReactNode } from "react";

import { type Here, apply } from "../../commands/here";
import { setDocumentFacts } from "../../model/edit";
import { useTexts } from "../../texts";
import { TextField } from "../../ui/Field";
import styles from "./Inspector.module.css";
import { Interface } from "./Interface";

export function DocumentFacts({ at }: { readonly at: Here }): ReactNode {
  const t = useTexts();
  const nodes = Object.keys(at.document.nodes).length;
  const subgraphs = Object.keys(at.document.subgraphs ?? {}).length;
  return (
    <>
      <section className={styles["section"]}>
        <TextField label={t("inspector.document_name")} value={at.document.name ?? ""} onChange={(name, session) => apply("inspector.document_name", setDocumentFacts({ name }), session)} />
        <TextField
          label={t("inspector.description")} value={at.document.description ?? ""} isMultiline placeholder={t("inspector.description_hint")}
          onChange={(description, session) => apply("inspector.description", setDocumentFacts({ description }), session)}
        />
        <dl className={styles["facts"]}>
          <dt>{t("inspector.nodes")}</dt><dd>{nodes}</dd>
          {subgraphs > 0 && <><dt>{t("edit.subgraphs")}</dt><dd>{subgraphs}</dd></>}
        </dl>
        {nodes > 0 && <p className={styles["hint"]}>{t("inspector.select_hint")}</p>}
        {nodes === 0 && <p className={styles["hint"]}>{t("inspector.empty_hint")}</p>}
      </section>
      <section className={styles["section"]}><Interface at={at} scopeId="" part="inputs" /></section>
      <section className={styles["section"]}><Interface at={at} scopeId="" part="outputs" /></section>
    </>
  );
}
