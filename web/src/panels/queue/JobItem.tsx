/** One job of the queue. */

import { useEffect, useRef, useState } from "react";

import { type JobView, type ProblemDocument } from "../../api/jobs";
import { readJob } from "../../api/client";
import { clockText, secondsText } from "../../state/format";
import { useLog } from "../../state/log";
import { type QueueJob, cancel, forget, move, neighbour, openAsRun, retry, useQueue } from "../../state/queue";
import { countsOf, isFinal } from "../../state/run_events";
import { followJob, isOwn, useRuns } from "../../state/runs";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { jumpToNode } from "../jump";
import styles from "../run.module.css";

interface Props {
  readonly job: QueueJob;
  /** Place in line, 1 is next. */
  readonly position?: number;
  readonly isOpen: boolean;
}

const COLOURS: { readonly [state: string]: string } = { failed: "bad", done: "good", cancelled: "warn" };

export function JobItem({ job, position, isOpen }: Props): React.ReactNode {
  const t = useTexts();
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isOpen) item.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  return (
    <li ref={item} className={styles["item"]} data-job={job.id} data-state={job.state}>
      <div className={styles["row"]}>
        <span className={styles["name"]} title={job.id}>{position !== undefined && `${position}. `}{job.workflow || t("run.queue_unnamed")}</span>
        <span className={`${styles["state"]} ${styles[COLOURS[job.state] ?? ""] ?? ""}`}>{t(`run.queue_state_${job.state}`)}</span>
      </div>
      <Facts job={job} />
      {job.state === "running" && <Progress id={job.id} />}
      {isOpen && <Details job={job} />}
      <Actions job={job} isOpen={isOpen} />
    </li>
  );
}

function Facts({ job }: { readonly job: QueueJob }): React.ReactNode {
  const t = useTexts();
  const own = useQueue((state) => state.client);
  const client = job.client === undefined ? null : isOwn(job.id) || job.client === own ? t("run.queue_own") : /^page-/.test(job.client) ? t("run.queue_other_page") : job.client;
  const facts = [
    client === null ? null : t("run.queue_client", { client }),
    job.seconds == null ? null : t("run.queue_took", { time: secondsText(job.seconds) }),
    job.ended != null ? clockText(job.ended * 1000) : job.created === undefined ? null : clockText(job.created * 1000),
  ].filter((fact) => fact !== null);
  return <span className={styles["facts"]}>{facts.join(" · ")}</span>;
}

function Progress({ id }: { readonly id: string }): React.ReactNode {
  const t = useTexts();
  useEffect(() => followJob(id), [id]);
  const run = useRuns((state) => state.runs.get(id));
  const now = useNow();
  if (run === undefined) return null;
  const counts = countsOf(run);
  const total = run.rows.size;
  const done = total - (counts.waiting ?? 0) - (counts.running ?? 0);
  const step = [...run.rows.values()].find((row) => row.progress !== undefined);
  const facts = [
    t("run.progress", { done, total }),
    ...(step?.progress === undefined ? [] : [`${step.id} ${t("run.node_step", { step: step.progress.step, total: step.progress.total })}`]),
    ...(run.started === null ? [] : [t("run.queue_for", { time: secondsText(Math.max(0, now / 1000 - run.started)) })]),
  ];
  return (
    <>
      <progress className={styles["bar"]} value={done} max={Math.max(1, total)} aria-label={t("run.queue_running")} />
      <span className={styles["facts"]}>{facts.join(" · ")}</span>
    </>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function Actions({ job, isOpen }: { readonly job: QueueJob; readonly isOpen: boolean }): React.ReactNode {
  const t = useTexts();
  const isOver = isFinal(job.state);
  const log = (): void => useLog.setState({ job: isOpen ? null : job.id });
  return (
    <div className={styles["actions"]}>
      {!isOver && <Button onClick={() => void cancel(job.id)}>{t("run.queue_cancel")}</Button>}
      {job.state === "queued" && <Move job={job} />}
      {isOver && <Button onClick={() => void retry(job)}>{t("run.queue_retry")}</Button>}
      <Button onClick={() => void openAsRun(job)}>{t("run.queue_open")}</Button>
      <Button aria-expanded={isOpen} onClick={log}>{t("run.queue_details")}</Button>
      {isOver && <Button kind="quiet" label={t("run.queue_forget")} onClick={() => void forget(job.id)}>×</Button>}
    </div>
  );
}

function Move({ job }: { readonly job: QueueJob }): React.ReactNode {
  const t = useTexts();
  useQueue((state) => state.view); // the neighbours change with the order
  const [canUp, canDown] = [neighbour(job, -1) !== undefined, neighbour(job, 1) !== undefined];
  const why = canUp || canDown ? undefined : t("run.queue_move_other");
  return (
    <>
      <Button label={t("run.queue_up")} title={why ?? t("run.queue_up")} disabled={!canUp} onClick={() => void move(job, -1)}>↑</Button>
      <Button label={t("run.queue_down")} title={why ?? t("run.queue_down")} disabled={!canDown} onClick={() => void move(job, 1)}>↓</Button>
    </>
  );
}

/** The problem document in full, what the nodes said, seeds and values. */
function Details({ job }: { readonly job: QueueJob }): React.ReactNode {
  const [view, setView] = useState<JobView | null>(null);
  const run = useRuns((state) => state.runs.get(job.id));
  useEffect(() => {
    let isGone = false;
    readJob(job.id).then((found) => {
      if (!isGone) setView(found);
    }, () => {});
    return () => {
      isGone = true;
    };
  }, [job.id, job.state]);
  const problem = (job.problem ?? view?.problem ?? null) as ProblemDocument | null; // the list tells it as JSON
  const failed = (view?.nodes ?? [...(run?.rows.values() ?? [])]).filter((row) => row.message !== undefined);
  const messages = view?.messages ?? run?.messages ?? [];
  const seeds = Object.entries(view?.seeds ?? {});
  return (
    <>
      {problem !== null && <Problem problem={problem} />}
      {failed.map((row) => (
        <button key={row.id} type="button" className={`${styles["jump"]} ${styles["facts"]}`} onClick={() => jumpToNode(row.id)}>
          {row.id}: {row.message}
        </button>
      ))}
      {messages.map((message) => <span key={message} className={styles["facts"]}>{message}</span>)}
      {seeds.length > 0 && <span className={styles["facts"]}>{seeds.map(([port, seed]) => `${port} = ${seed}`).join(", ")}</span>}
      <span className={styles["facts"]}>{job.id}</span>
    </>
  );
}

function Problem({ problem }: { readonly problem: ProblemDocument }): React.ReactNode {
  return (
    <>
      <strong className={styles["bad"]}>{problem.title}</strong>
      <span>{problem.detail}</span>
      <pre className={styles["problem"]} tabIndex={0}>{JSON.stringify(problem, null, 2)}</pre>
    </>
  );
}
