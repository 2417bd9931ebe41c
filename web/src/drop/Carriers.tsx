/** Asks what pictures that carry their workflow are to be: workflows in tabs of their own, or pictures in this one. */

import type { ReactNode } from "react";

import { fileThumbnailUrl } from "../api/client";
import type { Upload } from "../api/results";
import { trying } from "../panels/gallery/actions";
import { openText } from "../state/workflows";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, closeDialog } from "../ui/dialogs";
import styles from "./drop.module.css";

export interface Carrier {
  readonly upload: Upload;
  /** The document, as JSON that the server has read. */
  readonly workflow: object;
}

interface Props {
  readonly carriers: readonly Carrier[];
  readonly addAll: () => void;
}

export function Carriers({ carriers, addAll }: Props): ReactNode {
  const t = useTexts();
  const isOne = carriers.length === 1;
  const openAll = (): void => {
    closeDialog();
    for (const one of carriers) void trying(() => void openText(JSON.stringify(one.workflow), one.upload.name.replace(/\.\w+$/, "")));
  };
  return (
    <Dialog title={isOne ? t("gallery.carries_one") : t("gallery.carries_many", { count: carriers.length })} size="s">
      <ul className={styles["carriers"]}>
        {carriers.map(({ upload, workflow }) => (
          <li key={upload.sha256}>
            <img src={fileThumbnailUrl(upload.sha256, 128)} alt="" />
            <span>{upload.name}<small>{nameOf(workflow)}</small></span>
          </li>
        ))}
      </ul>
      <p>{t("gallery.carries_ask")}</p>
      <div className={styles["answers"]}>
        <Button onClick={() => { closeDialog(); addAll(); }}>{t("gallery.as_picture")}</Button>
        <Button kind="primary" autoFocus onClick={openAll}>{t("gallery.open_in_tab")}</Button>
      </div>
    </Dialog>
  );
}

function nameOf(workflow: object): string {
  return "name" in workflow && typeof workflow.name === "string" ? workflow.name : "";
}
