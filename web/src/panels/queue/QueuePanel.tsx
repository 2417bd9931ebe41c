/** The queue: what runs, waits and has ended, of every client; order, cancel, pause, and the full record of a failure. */

import { useEffect, useMemo } from "react";

import { useLog } from "../../state/log";
import { clearWaiting, loadMore, ownWaiting, setPaused, sorted, useQueue, watchQueue } from "../../state/queue";
import { aboutText } from "../../state/format";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import styles from "../run.module.css";
import { JobItem } from "./JobItem";
import { Sending } from "./Sending";

export default function QueuePanel(): React.ReactNode {
  const t = useTexts();
  useEffect(watchQueue, []);
  const queue = useQueue();
  const { jobs, view, next, isLoaded } = queue;
  const { running, waiting, ended } = useMemo(() => sorted({ jobs, view }), [jobs, view]);
  const log = useLog((state) => state.job);
  return (
    <div className={styles["panel"]}>
      <div className={styles["head"]}>
        {view !== null && (
          <Button aria-pressed={view.is_paused} onClick={() => void setPaused(!view.is_paused)}>
            {view.is_paused ? t("run.queue_resume") : t("run.queue_pause")}
          </Button>
        )}
        {ownWaiting(waiting).length > 0 && <Button onClick={() => void clearWaiting()}>{t("run.queue_clear")}</Button>}
      </div>
      {view?.is_paused === true && <p className={styles["notice"]}>{t("run.queue_paused")}</p>}
      {view?.is_draining === true && <p className={styles["notice"]}>{t("run.queue_draining")}</p>}
      {isLoaded && running.length + waiting.length === 0 && <p className={styles["empty"]}>{t("run.queue_empty")}</p>}
      {view !== null && view.seconds > 1 && <p className={styles["empty"]}>{t("run.queue_seconds", { time: aboutText(view.seconds) })}</p>}
      <Sending />
      <Part title={t("run.queue_running")} count={running.length}>
        {running.map((job) => <JobItem key={job.id} job={job} isOpen={job.id === log} />)}
      </Part>
      <Part title={t("run.queue_waiting")} count={waiting.length}>
        {waiting.map((job, at) => <JobItem key={job.id} job={job} position={at + 1} isOpen={job.id === log} />)}
      </Part>
      <Part title={t("run.queue_ended")} count={ended.length}>
        {ended.map((job) => <JobItem key={job.id} job={job} isOpen={job.id === log} />)}
      </Part>
      {isLoaded && ended.length === 0 && running.length + waiting.length > 0 && <p className={styles["empty"]}>{t("run.queue_none_ended")}</p>}
      {next !== null && <Button onClick={() => void loadMore()}>{t("run.queue_more")}</Button>}
    </div>
  );
}

function Part({ title, count, children }: { readonly title: string; readonly count: number; readonly children: React.ReactNode }): React.ReactNode {
  if (count === 0) return null;
  return (
    <section className={styles["part"]} aria-label={title}>
      <h3>{title} ({count})</h3>
      <ul className={styles["list"]}>{children}</ul>
    </section>
  );
}
