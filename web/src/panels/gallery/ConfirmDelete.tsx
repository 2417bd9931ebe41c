/** Asks before an output or a file is deleted: it cannot be brought back. */

import { type ReactNode, useState } from "react";

import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Dialog, showDialog, useClose } from "../../ui/dialogs";
import { trying } from "./actions";
import styles from "./gallery.module.css";

interface Props {
  readonly title: string;
  readonly name: string;
  readonly picture?: string;
  readonly remove: () => Promise<void>;
  readonly after?: () => void;
}

export function confirmDelete(props: Props): void {
  showDialog(<ConfirmDelete {...props} />);
}

function ConfirmDelete({ title, name, picture, remove, after }: Props): ReactNode {
  const t = useTexts();
  const [isBusy, setBusy] = useState(false);
  const close = useClose();
  const act = async (): Promise<void> => {
    setBusy(true);
    const done = await trying(remove);
    close();
    if (done) after?.();
  };
  return (
    <Dialog title={title} size="s">
      <div className={styles["confirm"]}>
        {picture !== undefined && <img src={picture} alt="" />}
        <p>{t("gallery.delete_forever", { name })}</p>
      </div>
      <div className={styles["answers"]}>
        <Button onClick={close}>{t("gallery.keep")}</Button>
        <Button className={styles["destroy"]} disabled={isBusy} onClick={() => void act()}>{t("gallery.delete")}</Button>
      </div>
    </Dialog>
  );
}
