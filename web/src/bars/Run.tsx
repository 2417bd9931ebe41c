/** The run button with its menu, what the plan says, and how far the run is. */

import { useState } from "react";

import { useDocument, useDocuments } from "../state/documents";
import { aboutText, sizeText } from "../state/format";
import { useLayout } from "../state/layout";
import { usePlan } from "../state/plan";
import { usePreferences } from "../state/preferences";
import { useQueue } from "../state/queue";
import { cancelActive, runActive } from "../state/run";
import { type Run, countsOf, isFinal } from "../state/run_events";
import { MOST_COUNT, useRunSettings } from "../state/run_settings";
import { useRuns } from "../state/runs";
import { useShown } from "../state/shown";
import { giveUp, useSubmissions } from "../state/submit";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { onceMore } from "../ui/later";
import { Popover } from "../ui/Popover";
import type { Bar } from "./bar";
import styles from "./Run.module.css";

const registry = onceMore(() => import("../commands/registry"));

function RunBar(): React.ReactNode {
  const t = useTexts();
  const count = useRunSettings((state) => state.count);
  const hasNodes = Object.keys(useDocument().nodes).length > 0;
  const isOpen = useDocuments((state) => state.open.length > 0);
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  return (
    <div className={styles["run"]}>
      {isOpen && <Now />}
      <div className={styles["split"]}>
        <Button kind="primary" title={t("run.run_keys")} disabled={!hasNodes} onClick={() => void runActive()}>
          {count > 1 ? t("run.run_many", { count }) : t("run.run")}
        </Button>
        <Button kind="primary" label={t("run.more")} aria-haspopup="dialog" aria-expanded={anchor !== null} onClick={(event) => setAnchor(event.currentTarget)}>
          ▾
        </Button>
      </div>
      {anchor !== null && (
        <Popover anchor={anchor} label={t("run.more")} onClose={() => setAnchor(null)}>
          <Menu close={() => setAnchor(null)} />
        </Popover>
      )}
    </div>
  );
}

/** What is going on: sending, waiting, running; else what the plan says. */
function Now(): React.ReactNode {
  const draft = useDocuments((state) => state.active);
  const sending = useSubmissions((state) => state.open.find((one) => one.draft === draft));
  const isOpen = useShown((state) => state.run !== undefined && !isFinal(state.run.state));
  const isMore = useOpenCount(draft) > 0;
  if (sending !== undefined) return <Sending waiting={sending.waiting} draft={draft} />;
  return isOpen || isMore ? <Progress draft={draft} /> : <PlanLine />;
}

/** How many of the draft's jobs have not ended. */
function useOpenCount(draft: string): number {
  const memory = useRuns((state) => state.drafts.get(draft));
  return useRuns((state) => (memory?.jobs ?? []).filter((job) => {
    const run = state.runs.get(job.id);
    return run !== undefined && !isFinal(run.state);
  }).length);
}

function Sending({ waiting, draft }: { readonly waiting: string | null; readonly draft: string }): React.ReactNode {
  const t = useTexts();
  return (
    <div className={styles["now"]} role="status">
      <span className={styles["text"]}>{waiting === null ? t("run.sending") : t("run.sending_waits", { why: waiting })}</span>
      {waiting !== null && <Button onClick={() => giveUp(draft)}>{t("run.give_up")}</Button>}
    </div>
  );
}

/** The run that the bar speaks of: the one shown while it is under way, else the draft's first that is. */
function useSpokenOf(draft: string): Run | undefined {
  const shown = useShown((state) => state.run);
  const memory = useRuns((state) => state.drafts.get(draft));
  return useRuns((state) => {
    if (shown !== undefined && !isFinal(shown.state)) return shown;
    const runs = (memory?.jobs ?? []).map((job) => state.runs.get(job.id));
    return runs.find((run) => run?.state === "running") ?? runs.find((run) => run?.state === "queued") ?? shown;
  });
}

function Progress({ draft }: { readonly draft: string }): React.ReactNode {
  const t = useTexts();
  const run = useSpokenOf(draft);
  const place = useQueue((state) => (run === undefined ? -1 : (state.view?.order.indexOf(run.id) ?? -1)));
  const isPaused = useQueue((state) => state.view?.is_paused === true);
  const others = useOpenCount(draft) - (run !== undefined && !isFinal(run.state) ? 1 : 0);
  const counts = run === undefined ? {} : countsOf(run);
  const total = run?.rows.size ?? 0;
  const done = total - (counts.waiting ?? 0) - (counts.running ?? 0);
  const text = run?.state !== "running" ? (isPaused ? t("run.plan_paused") : place >= 0 ? t("run.queued_at", { position: place + 1 }) : t("run.queued"))
    : total > 0 ? t("run.progress", { done, total }) : t("run.started");
  return (
    <div className={styles["now"]}>
      <span className={styles["text"]}>{text}{others > 0 && ` · ${t("run.more_jobs", { count: others })}`}</span>
      <progress className={styles["bar"]} value={total > 0 ? done : undefined} max={Math.max(1, total)} aria-label={t("run.started")} />
      <Button kind="danger" label={t("run.cancel")} onClick={() => void cancelActive()}>■</Button>
    </div>
  );
}

function PlanLine(): React.ReactNode {
  const t = useTexts();
  const { plan, problems, failure, isAsking } = usePlan();
  const show = useLayout((state) => state.toggle);
  if (problems.length > 0) {
    return (
      <Button kind="danger" className={styles["plan"]} onClick={() => show("right", "problems")}>
        <span aria-hidden="true">!</span>
        {problems.length === 1 ? t("run.plan_problems_one") : t("run.plan_problems", { count: problems.length })}
      </Button>
    );
  }
  if (plan === null) {
    const text = failure ?? (isAsking ? t("run.plan_asking") : "");
    return text === "" ? null : <span className={styles["text"]} title={text}>{text}</span>;
  }
  return (
    <Button kind="quiet" className={styles["plan"]} onClick={() => show("right", "plan")}>
      <PlanText />
    </Button>
  );
}

/** "3 of 12 nodes run · about 2.3 s · 1.2 GB on cpu:0". */
export function PlanText(): React.ReactNode {
  const t = useTexts();
  const plan = usePlan((state) => state.plan);
  if (plan === null) return null;
  const running = plan.nodes.filter((node) => node.state === "run");
  if (running.length === 0) return t("run.plan_nothing");
  const time = plan.seconds === null ? t("run.plan_no_time") : t("run.plan_time", { time: aboutText(plan.seconds) });
  const peaks = Object.entries(plan.peak_bytes).filter(([, size]) => size > 0).map(([place, size]) => t("run.plan_memory", { size: sizeText(size), place }));
  return [t("run.plan_some", { running: running.length, total: plan.nodes.length }), time, ...peaks].join(" · ");
}

function Menu({ close }: { close(): void }): React.ReactNode {
  const t = useTexts();
  const { count, onChange, set } = useRunSettings();
  const previews = usePreferences((state) => state.previews);
  const command = (id: string) => () => {
    close();
    void registry().then(({ runCommand }) => runCommand(id));
  };
  const hasSelection = useDocuments((state) => (state.open.find((one) => one.id === state.active)?.selection.size ?? 0) > 0);
  return (
    <div className={styles["menu"]}>
      <Button kind="quiet" disabled={!hasSelection} onClick={command("run_here")}>{t("run.run_here")}</Button>
      <Button kind="quiet" disabled={!hasSelection} onClick={command("run_output")}>{t("run.run_output")}</Button>
      <Button kind="quiet" onClick={command("sweep")}>{t("run.sweep")}</Button>
      <hr />
      <label className={styles["field"]}>
        <span>{t("run.count")}</span>
        <input
          type="number" min={1} max={MOST_COUNT} value={count} aria-describedby="run-count-hint"
          onChange={(event) => set({ count: Math.max(1, Math.min(MOST_COUNT, Math.round(Number(event.target.value)) || 1)) })}
        />
      </label>
      <small id="run-count-hint" className={styles["hint"]}>{t("run.count_hint")}</small>
      <label className={styles["check"]}>
        <input type="checkbox" checked={onChange} onChange={(event) => set({ onChange: event.target.checked })} />
        {t("run.on_change")}
      </label>
      <label className={styles["check"]}>
        <input type="checkbox" checked={previews} onChange={(event) => usePreferences.getState().set({ previews: event.target.checked })} />
        {t("run.previews")}
      </label>
    </div>
  );
}

const bar: Bar = { place: "right", order: 100, Component: RunBar };
export default bar;
