/** The subgraph one is in, while nothing in it is selected: its interface. */

import type { ReactNode } from "react";

import type { Here } from "../../commands/here";
import { useTexts } from "../../texts";
import styles from "./Inspector.module.css";
import { Interface } from "./Interface";

export function SubgraphFacts({ at, id }: { readonly at: Here; readonly id: string }): ReactNode {
  const t = useTexts();
  return (
    <>
      <section className={styles["section"]}>
        <h3>{t("inspector.subgraph", { name: id })}</h3>
        <p className={styles["hint"]}>{t("inspector.subgraph_hint")}</p>
      </section>
      <section className={styles["section"]}><Interface at={at} scopeId={id} part="inputs" /></section>
      <section className={styles["section"]}><Interface at={at} scopeId={id} part="outputs" /></section>
    </>
  );
}
