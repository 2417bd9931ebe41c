/** One line below a node: how it stands in the run that is shown, or what a run would do with it. */

import { useState } from "react";

import { Popover } from "../ui/Popover";
import { type NodeRow, type PlannedNode, type WorkflowProblem } from "../api/jobs";
import { changedInputs, nodeAt } from "../state/stale";
import { activeDocument } from "../state/documents";
import { aboutText, secondsText, sizeText } from "../state/format";
import { showJob } from "../state/log";
import { usePlan } from "../state/plan";
import { useRuns } from "../state/runs";
import { useInsideRun, useShown } from "../state/shown";
import { useStanding } from "../state/standing";
import { type TextKey, useTexts } from "../texts";
import styles from "./NodeStatus.module.css";
import { Why } from "./Why";

export function NodeStatus({ path }: { readonly path: string }): React.ReactNode {
  const standing = useStanding(path);
  const inside = useInsideRun(path);
  if (inside !== "" && standing?.kind !== "problem") return <InsideLine inside={inside} />;
  switch (standing?.kind) {
    case "problem":
      return <ProblemLine problem={standing.problem} />;
    case "run":
      return <RunLine row={standing.row} />;
    case "stale":
      return <StaleLine />;
    case "planned":
      return standing.node.state === "light" ? <LightLine /> : <PlannedLine path={path} node={standing.node} />;
    default:
      return <PlanInside path={path} />;
  }
}

interface LineProps {
  /** Also its colour; never the only sign: there is a symbol and a word. */
  readonly state: string;
  readonly symbol: string;
  readonly title?: string | undefined;
  readonly children: React.ReactNode;
}

function Line({ state, symbol, title, children }: LineProps): React.ReactNode {
  return (
    <div className={`${styles["line"]} ${styles[state] ?? ""}`} data-state={state} title={title}>
      <span aria-hidden="true" data-symbol="" className={styles["symbol"]}>{symbol}</span>
      {children}
    </div>
  );
}

function ProblemLine({ problem }: { readonly problem: WorkflowProblem }): React.ReactNode {
  return (
    <Line state="failed" symbol="!" title={problem.message}>
      <span className={styles["text"]}>{problem.message}</span>
    </Line>
  );
}

/** An instance of a subgraph: how far the nodes inside it are. */
function InsideLine({ inside }: { readonly inside: string }): React.ReactNode {
  const t = useTexts();
  const [state = "", done = "0", total = "0"] = inside.split(" ");
  return (
    <Line state={state} symbol={SYMBOLS[state] ?? ""}>
      <span className={styles["text"]}>
        <span className={styles["fact"]}>{t(`run.node_${state}` as TextKey /* `insideOf` (state/shown.ts) wrote it */)}</span>
        <span className={styles["fact"]}>{t("run.progress", { done, total })}</span>
      </span>
      {state === "running" && <progress className={styles["bar"]} value={Number(done)} max={Number(total)} aria-label={t("run.node_running")} />}
    </Line>
  );
}

/** An instance of a subgraph before a run: how many of the nodes inside it would run. Nothing for other nodes. */
function PlanInside({ path }: { readonly path: string }): React.ReactNode {
  const t = useTexts();
  const inside = usePlan(({ nodes }) => {
    const within = [...nodes].filter(([id]) => id.startsWith(`${path}/`));
    return within.length === 0 ? "" : `${within.filter(([, node]) => node.state === "run").length} ${within.length}`;
  });
  if (inside === "") return null;
  const [running = "0", total = "0"] = inside.split(" ");
  const isCached = running === "0";
  return (
    <Line state={isCached ? "cached" : "planned"} symbol={isCached ? "⟲" : "▹"}>
      <span className={styles["text"]}>{isCached ? t("run.node_cached") : t("run.plan_some", { running, total })}</span>
    </Line>
  );
}

function LightLine(): React.ReactNode {
  const t = useTexts();
  return (
    <Line state="light" symbol="·" title={t("run.node_light_why")}>
      <span className={styles["text"]}>{t("run.node_light")}</span>
    </Line>
  );
}

function StaleLine(): React.ReactNode {
  const t = useTexts();
  return (
    <Line state="stale" symbol="◌">
      <span className={styles["text"]}>{t("run.node_stale")}</span>
    </Line>
  );
}

const SYMBOLS: { readonly [state: string]: string } = {
  waiting: "·", running: "▸", done: "✓", cached: "⟲", failed: "✕", skipped: "–", cancelled: "■",
};

function RunLine({ row }: { readonly row: NodeRow }): React.ReactNode {
  const t = useTexts();
  const said = row.message ?? row.note;
  const progress = progressOf(row);
  return (
    <Line state={row.state} symbol={SYMBOLS[row.state] ?? ""} title={said === "light" ? undefined : said}>
      <span className={styles["text"]}>
        {wordsOf(row, t).map((word) => <span key={word} className={styles["fact"]}>{word}</span>)}
      </span>
      {row.state === "failed" && <InLog />}
      {progress !== undefined && (
        <progress className={styles["bar"]} value={progress.step} max={Math.max(1, progress.total)} aria-label={t("run.node_running")} />
      )}
    </Line>
  );
}

/** Only while it runs: of a mapped node the last that was heard may be of the middle of an element. */
function progressOf(row: NodeRow): NodeRow["progress"] {
  return row.state === "running" ? row.progress : undefined;
}

/** The state, unless what is known of it says as much. */
function wordsOf(row: NodeRow, t: ReturnType<typeof useTexts>): string[] {
  if (row.state === "failed" && row.message !== undefined) return [row.message];
  const facts = factsOf(row, t);
  return progressOf(row) !== undefined ? facts : [t(`run.node_${row.state}`), ...facts];
}

function factsOf(row: NodeRow, t: ReturnType<typeof useTexts>): string[] {
  const { elements } = row;
  const progress = progressOf(row);
  const facts: string[] = [];
  if (elements !== undefined) {
    const total = elements["total"] ?? 0;
    const done = row.state === "done" ? total : (elements["done"] ?? 0) + (elements["cached"] ?? 0);
    facts.push(t("run.node_elements", { done, total }));
  }
  if (progress !== undefined) {
    facts.push(t("run.node_step", { step: progress.step, total: progress.total }));
    if (progress.eta_seconds !== null && progress.step < progress.total) facts.push(t("run.node_eta", { time: aboutText(progress.eta_seconds) }));
  } else if (row.state === "done" && row.seconds !== undefined && row.seconds >= 0.0005) facts.push(secondsText(row.seconds));
  if (row.device !== undefined && row.device !== "host" && (row.state === "done" || row.state === "running")) facts.push(row.device);
  return facts;
}

function InLog(): React.ReactNode {
  const t = useTexts();
  const job = useShown((state) => state.job);
  return (
    <button type="button" className={`${styles["link"]} nodrag nopan`} onClick={() => job !== null && showJob(job)}>
      {t("run.node_in_log")}
    </button>
  );
}

function PlannedLine({ path, node }: { readonly path: string; readonly node: PlannedNode }): React.ReactNode {
  const t = useTexts();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const changed = useChangedInputs(path);
  if (node.state === "cached") {
    return (
      <Line state="cached" symbol="⟲" title={node.reason}>
        <span className={styles["text"]}>{t("run.node_cached")}</span>
      </Line>
    );
  }
  const isRun = node.state === "run";
  const reason = changed === "" ? node.reason : t("run.node_changed", { names: changed });
  return (
    <Line state={isRun ? "planned" : node.state} symbol={isRun ? "▹" : "–"} title={reason}>
      <span className={styles["text"]}>
        {[isRun ? t("run.node_will_run") : node.state, ...estimates(node), reason].map((fact) => <span key={fact} className={styles["fact"]}>{fact}</span>)}
      </span>
      <button type="button" className={`${styles["link"]} nodrag nopan`} aria-expanded={anchor !== null} onClick={(event) => setAnchor(event.currentTarget)}>
        {t("run.node_why")}
      </button>
      {anchor !== null && (
        <Popover anchor={anchor} label={t("run.node_why")} onClose={() => setAnchor(null)}>
          <Why path={path} />
        </Popover>
      )}
    </Line>
  );
}

function estimates(node: PlannedNode): string[] {
  return [
    ...(node.seconds === null ? [] : [`~${aboutText(node.seconds)}`]),
    ...(node.peak_bytes === null ? [] : [sizeText(node.peak_bytes)]),
  ];
}

/** Names of the node's own inputs that differ from what the run that is shown had. */
function useChangedInputs(path: string): string {
  const job = useShown((state) => state.job);
  const frozen = useRuns((state) => (job === null ? undefined : state.documents.get(job)));
  const document = activeDocument()?.history.document;
  const now = document === undefined ? null : nodeAt(document, path);
  const before = frozen === undefined ? null : nodeAt(frozen, path);
  return now === null || before === null ? "" : changedInputs(now.node, before.node).join(", ");
}
