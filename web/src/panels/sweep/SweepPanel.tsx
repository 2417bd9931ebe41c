/** The results of the active document's newest sweep as a labelled grid; cells fill in as their jobs end. */

import { useEffect } from "react";

import { outputThumbnailUrl } from "../../api/client";
import { SweepDialog } from "./SweepDialog";
import { useDocuments } from "../../state/documents";
import { valueText } from "../../state/format";
import type { Sweep } from "../../state/memory";
import { openAsRun } from "../../state/queue";
import { isFinal } from "../../state/run_events";
import { useRuns } from "../../state/runs";
import { cancelSweep, loadSweep, pictureOf } from "../../state/sweep";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { showDialog } from "../../ui/dialogs";
import styles from "../run.module.css";

export default function SweepPanel(): React.ReactNode {
  const t = useTexts();
  const active = useDocuments((state) => state.active);
  const sweep = useRuns((state) => state.drafts.get(active)?.sweeps.at(-1));
  const id = sweep?.id;
  useEffect(() => {
    if (sweep !== undefined) void loadSweep(sweep);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once per sweep: later jobs come by themselves
  }, [id]);
  return (
    <div className={styles["panel"]}>
      <div className={styles["head"]}>
        {sweep !== undefined && <Cancel sweep={sweep} />}
        <Button onClick={() => showDialog(<SweepDialog />)}>{t("run.sweep")}</Button>
      </div>
      {sweep === undefined ? <p className={styles["empty"]}>{t("run.sweep_empty")}</p> : <Grid sweep={sweep} />}
    </div>
  );
}

function Cancel({ sweep }: { readonly sweep: Sweep }): React.ReactNode {
  const t = useTexts();
  const isOpen = useRuns((state) => sweep.jobs.some((id) => id !== null && !isFinal(state.runs.get(id)?.state ?? "done")));
  return isOpen ? <Button kind="danger" onClick={() => void cancelSweep(sweep)}>{t("run.sweep_cancel")}</Button> : null;
}

function Grid({ sweep }: { readonly sweep: Sweep }): React.ReactNode {
  const [rows, columns] = sweep.axes;
  if (rows === undefined) return null;
  const across = columns?.values ?? [null];
  return (
    <div className={styles["scroll"]} tabIndex={0} role="group" aria-label={rows.label}>
      <table className={styles["grid"]}>
        <thead>
          <tr>
            <th scope="col">{columns === undefined ? rows.label : `${rows.label} \\ ${columns.label}`}</th>
            {across.map((value, at) => <th key={at} scope="col">{columns === undefined ? "" : valueText(value)}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.values.map((value, at) => (
            <tr key={at}>
              <th scope="row">{valueText(value)}</th>
              {across.map((other, column) => (
                <td key={column} className={styles["cell"]}>
                  <Cell job={sweep.jobs[at * across.length + column] ?? null} label={[value, other].filter((one) => one !== null).map(valueText).join(", ")} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ job, label }: { readonly job: string | null; readonly label: string }): React.ReactNode {
  const t = useTexts();
  const run = useRuns((state) => (job === null ? undefined : state.runs.get(job)));
  if (job === null || run === undefined) return "·";
  const picture = pictureOf(run.outputs);
  const text = run.state === "done" ? Object.values(run.outputs).map(valueText).join(", ") : t(`run.queue_state_${run.state}`);
  return (
    <button type="button" title={run.problem?.detail ?? label} aria-label={`${label}: ${text}`} onClick={() => void openAsRun(run)}>
      {picture === null ? text : <img src={outputThumbnailUrl(picture)} alt={label} loading="lazy" />}
    </button>
  );
}
