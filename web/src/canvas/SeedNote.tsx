/** Beside a seed: what the last run used, if it is not the number written there, and a button that keeps it. */

import { type Json, isRandom } from "../model/document";
import { useDocument, useDocuments } from "../state/documents";
import { useUsedSeed } from "../state/seeds";
import { nodeAt } from "../state/stale";
import { setInput } from "../model/edit";
import { useTexts } from "../texts";
import styles from "./SeedNote.module.css";

interface Props {
  /** Run id of the node. */
  readonly path: string;
  readonly node: string;
  readonly port: string;
}

export function SeedNote({ path, node, port }: Props): React.ReactNode {
  const t = useTexts();
  const used = useUsedSeed(path, port);
  const document = useDocument();
  const at = nodeAt(document, path);
  const value: Json | undefined = at?.node.inputs[port];
  if (used === null || at === null || value === used || (typeof value !== "number" && !isRandom(value))) return null;
  const keep = (): void => useDocuments.getState().apply("run.seed_keep", setInput(at.scope, node, port, used));
  return (
    <div className={`${styles["note"]} nodrag nopan`}>
      <span className={styles["seed"]}>{t("run.seed_used", { seed: used })}</span>
      <button type="button" className={styles["keep"]} onClick={keep}>{t("run.seed_keep")}</button>
    </div>
  );
}
