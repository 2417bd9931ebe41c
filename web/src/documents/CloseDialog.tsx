import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, closeDialog } from "../ui/dialogs";
import styles from "./dialogs.module.css";

/** Before a tab is closed whose changes nobody could keep. */
export function CloseDialog({ name, close }: { readonly name: string; close(): void }): React.ReactNode {
  const t = useTexts();
  return (
    <Dialog title={t("documents.close_lost_title", { name })} size="s">
      <p className={styles["text"]}>{t("documents.close_lost")}</p>
      <div className={styles["buttons"]}>
        <Button kind="danger" onClick={() => { closeDialog(); close(); }}>{t("documents.close_lost_yes")}</Button>
        <Button kind="primary" onClick={closeDialog}>{t("documents.cancel")}</Button>
      </div>
    </Dialog>
  );
}
