import type { Json, WorkflowDocument } from "../model/document";
import { isLink } from "../model/document";
import { type Difference, differences } from "../model/diff";
import { useTexts } from "../texts";
import styles from "./dialogs.module.css";

interface Props {
  /** What the two are called. */
  readonly names: readonly [string, string];
  readonly before: WorkflowDocument;
  readonly after: WorkflowDocument;
}

/** What differs between two documents, as a list. Places and sizes are left out. */
export function Differences({ names, before, after }: Props): React.ReactNode {
  const t = useTexts();
  const found = differencesThatCount(before, after);
  if (found.length === 0) return <p className={styles["hint"]}>{t("documents.differences_none")}</p>;
  return (
    <ul className={styles["differences"]} aria-label={t("documents.differences")} tabIndex={0}>
      {found.map((one) => (
        <li key={`${one.kind}:${one.path}`}>
          <span className={styles["kind"]} data-kind={one.kind}>{t(`documents.${one.kind}`)}</span>
          <span className={styles["place"]}>{one.path}</span>
          {one.kind === "changed" && (
            <dl className={styles["values"]}>
              <dt>{names[0]}</dt>
              <dd>{shown(one.before)}</dd>
              <dt>{names[1]}</dt>
              <dd>{shown(one.after)}</dd>
            </dl>
          )}
        </li>
      ))}
    </ul>
  );
}

export function differencesThatCount(before: WorkflowDocument, after: WorkflowDocument): readonly Difference[] {
  return differences(before, after).filter((one) => one.what !== "view");
}

const LONGEST = 300;

/** A value in one line: texts as they are, links with an arrow, all else as JSON. */
function shown(value: Json | undefined): string {
  if (value === undefined) return "–";
  if (isLink(value)) return `← ${value.link}`;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
