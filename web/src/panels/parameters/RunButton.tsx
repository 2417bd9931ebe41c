/** Runs the document; while it runs: how far it is, and a button that cancels. */

import type { ReactNode } from "react";

import { useDocument, useDocuments } from "../../state/documents";
import { cancelActive, runActive } from "../../state/run";
import { type Run, countsOf, isFinal } from "../../state/run_events";
import { useShown } from "../../state/shown";
import { useSubmissions } from "../../state/submit";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import styles from "./parameters.module.css";

export function RunButton(): ReactNode {
  const t = useTexts();
  const draft = useDocuments((state) => state.active);
  const isNothing = Object.keys(useDocument().nodes).length === 0;
  const waiting = useSubmissions((state) => state.open.find((one) => one.draft === draft));
  const run = useShown((state) => state.run);
  const isUnderWay = waiting !== undefined || (run !== undefined && !isFinal(run.state));
  return (
    <div className={styles["run"]}>
      {isUnderWay ? (
        <Button className={styles["go"] ?? ""} onClick={() => void cancelActive()}><Icon name="stop" /> {t("parameters.cancel")}</Button>
      ) : (
        <Button kind="primary" className={styles["go"] ?? ""} disabled={isNothing} onClick={() => void runActive()}><Icon name="run" /> {t("parameters.run")}</Button>
      )}
      {isUnderWay && <Progress run={run} waiting={waiting?.waiting ?? null} />}
    </div>
  );
}

function Progress({ run, waiting }: { readonly run: Run | undefined; readonly waiting: string | null }): ReactNode {
  const t = useTexts();
  if (waiting !== null) return <p className={styles["note"]} role="status">{waiting}</p>;
  if (run === undefined || run.state === "queued") return <p className={styles["note"]} role="status">{t("parameters.queued")}</p>;
  const counts = countsOf(run);
  const over = (counts.done ?? 0) + (counts.cached ?? 0) + (counts.skipped ?? 0);
  const running = [...run.rows.values()].find((row) => row.state === "running");
  const step = running?.progress;
  const part = step !== undefined && step.total > 0 ? step.step / step.total : 0;
  return (
    <>
      <progress className={styles["progress"]} max={Math.max(1, run.rows.size)} value={over + part} aria-label={t("parameters.progress")} />
      <p className={styles["note"]} role="status">
        {running === undefined ? t("parameters.running") : step === undefined ? running.id : t("parameters.step", { node: running.id, step: step.step, total: step.total })}
      </p>
    </>
  );
}
