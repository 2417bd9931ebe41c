/** Everything that is wrong with the workflow, in the validator's sentences, each leading to its node. */

import { usePlan } from "../../state/plan";
import { useTexts } from "../../texts";
import { jumpToNode } from "../jump";
import styles from "../run.module.css";

export default function ProblemsPanel(): React.ReactNode {
  const t = useTexts();
  const problems = usePlan((state) => state.problems);
  return (
    <div className={styles["panel"]}>
      {problems.length === 0 && <p className={styles["empty"]}>{t("run.problems_none")}</p>}
      <ul className={styles["list"]} aria-live="polite">
        {problems.map((problem) => (
          <li key={`${problem.node} ${problem.port} ${problem.message}`} className={styles["item"]}>
            {problem.node != null ? (
              <button type="button" className={styles["jump"]} title={t("run.problems_jump")} onClick={() => jumpToNode(problem.node ?? "")}>
                {problem.port != null ? `${problem.node}.${problem.port}` : problem.node}
              </button>
            ) : null}
            <span>{problem.message}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
