/** What a run would do, node by node: remembered, run or skipped, with the reason, the time and the memory. */

import { useState } from "react";

import type { PlannedNode } from "../../api/jobs";
import { PlanText } from "../../bars/Run";
import { Why } from "../../canvas/Why";
import { secondsText, sizeText } from "../../state/format";
import { usePlan } from "../../state/plan";
import { useTexts } from "../../texts";
import { jumpToNode } from "../jump";
import styles from "../run.module.css";

const STATES = ["cached", "run", "light", "skipped"] as const;

export default function PlanPanel(): React.ReactNode {
  const t = useTexts();
  const { plan, failure } = usePlan();
  return (
    <div className={styles["panel"]}>
      {failure !== null && <p className={styles["notice"]}>{failure}</p>}
      {plan === null ? <p className={styles["empty"]}>{t("run.plan_empty")}</p> : (
        <>
          <p className={styles["empty"]}><PlanText /></p>
          {Object.entries(plan.absent).map(([name, why]) => <p key={name} className={styles["notice"]}>{t("run.plan_absent", { name, why })}</p>)}
          <table className={styles["table"]}>
            <tbody>{plan.nodes.map((node) => <NodeLine key={node.id} node={node} />)}</tbody>
          </table>
        </>
      )}
    </div>
  );
}

function NodeLine({ node }: { readonly node: PlannedNode }): React.ReactNode {
  const t = useTexts();
  const [isOpen, setOpen] = useState(false);
  const known = STATES.find((one) => one === node.state);
  const state = known === undefined ? node.state : t(`run.plan_state_${known}`);
  return (
    <tr>
      <td>
        <button type="button" className={styles["jump"]} onClick={() => jumpToNode(node.id)}>{node.id}</button>
        {isOpen && <Why path={node.id} />}
      </td>
      <td>
        <span className={node.state === "run" ? styles["warn"] : undefined}>{node.tasks > 1 ? `${state} ${node.running}/${node.tasks}` : state}</span>
        {node.state === "run" && (
          <>
            <br />
            <span className={styles["facts"]}>{node.reason}</span>{" "}
            <button type="button" className={styles["jump"]} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{t("run.node_why")}</button>
          </>
        )}
      </td>
      <td>
        {node.seconds !== null && secondsText(node.seconds)}
        {node.peak_bytes !== null && <><br />{sizeText(node.peak_bytes)}</>}
      </td>
    </tr>
  );
}
