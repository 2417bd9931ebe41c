/** Beside a seed: what the last run used, if it is not the number written there, and a button that keeps it. */

import { type Json, isRandom } from "../model/document";
import { setInput } from "../model/edit";
import { activeDocument, useDocuments } from "../state/documents";
import { useUsedSeed } from "../state/seeds";
import { nodeAt } from "../state/stale";
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
  // A random seed is one word here: its object is another one after each edit of the node.
  const written = useDocuments(() => {
    const value = used === null ? undefined : inputAt(path, port)?.value;
    return isRandom(value) ? "random" : value;
  });
  if (used === null || written === used || (typeof written !== "number" && written !== "random")) return null;
  const keep = (): void => {
    const at = inputAt(path, port);
    if (at !== null) useDocuments.getState().apply("run.seed_keep", setInput(at.scope, node, port, used));
  };
  return (
    <div className={`${styles["note"]} nodrag nopan`}>
      <span className={styles["seed"]}>{t("run.seed_used", { seed: used })}</span>
      <button type="button" className={styles["keep"]} onClick={keep}>{t("run.seed_keep")}</button>
    </div>
  );
}

/** What is written at a port of the active document, and the scope it stands in. */
function inputAt(path: string, port: string): { readonly scope: string; readonly value: Json | undefined } | null {
  const document = activeDocument()?.history.document;
  const at = document === undefined ? null : nodeAt(document, path);
  return at === null ? null : { scope: at.scope, value: at.node.inputs[port] };
}
