import type { Flaw } from "../model/read";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, closeDialog } from "../ui/dialogs";
import { downloadJson } from "./actions";
import styles from "./dialogs.module.css";

interface Props {
  readonly name: string;
  readonly text: string;
  readonly flaws: readonly Flaw[];
}

/** A text that is no workflow: everything that is wrong with it and where, and the text itself to keep. */
export function FlawsDialog({ name, text, flaws }: Props): React.ReactNode {
  const t = useTexts();
  return (
    <Dialog title={t("documents.cannot_open", { name })}>
      <p className={styles["text"]}>{t("documents.flaws_intro")}</p>
      <ul className={styles["flaws"]}>
        {flaws.map((flaw, index) => (
          <li key={index}>{flaw.message}</li>
        ))}
      </ul>
      <div className={styles["buttons"]}>
        <Button onClick={() => downloadJson(text, name.endsWith(".json") ? name : `${name}.json`)}>{t("documents.download")}</Button>
        <Button kind="primary" onClick={closeDialog}>{t("documents.ok")}</Button>
      </div>
    </Dialog>
  );
}
