/** What this browser asked for and the server has not accepted yet: why, since when, and a button that gives it up. */

import { useMemo } from "react";

import { clockText } from "../../state/format";
import { type Submission, giveUp, useSubmissions } from "../../state/submit";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import styles from "../run.module.css";

export function Sending(): React.ReactNode {
  const t = useTexts();
  const open = useSubmissions((state) => state.open);
  const batches = useMemo(() => byBatch(open), [open]);
  if (batches.length === 0) return null;
  return (
    <section className={styles["part"]} aria-label={t("run.queue_sending")}>
      <h3>{t("run.queue_sending")} ({open.length})</h3>
      <ul className={styles["list"]}>{batches.map((batch) => <Batch key={batch[0].batch} batch={batch} />)}</ul>
    </section>
  );
}

type Batch = readonly [Submission, ...Submission[]];

function byBatch(open: readonly Submission[]): Batch[] {
  const found = new Map<string, [Submission, ...Submission[]]>();
  for (const one of open) {
    const batch = found.get(one.batch);
    if (batch === undefined) found.set(one.batch, [one]);
    else batch.push(one);
  }
  return [...found.values()];
}

function Batch({ batch }: { readonly batch: Batch }): React.ReactNode {
  const t = useTexts();
  const [first] = batch;
  return (
    <li className={styles["item"]} data-batch={first.batch}>
      <div className={styles["row"]}>
        <span className={styles["name"]}>{first.workflow || t("run.queue_unnamed")}</span>
        {batch.length > 1 && <span className={styles["state"]}>{t("run.queue_sending_count", { count: batch.length })}</span>}
      </div>
      <span className={styles["facts"]}>{first.waiting ?? t("run.sending")} · {clockText(first.since)}</span>
      <div className={styles["actions"]}>
        <Button kind="danger" onClick={() => giveUp(first.draft, first.batch)}>{t("run.give_up")}</Button>
      </div>
    </li>
  );
}
