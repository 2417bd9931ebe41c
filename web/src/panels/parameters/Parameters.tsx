/** The panel at the side: the form of the document's named inputs, and the newest result. */

import type { ReactNode } from "react";

import { useFormView } from "../../state/form";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import { Form } from "./Form";
import styles from "./parameters.module.css";

export function Parameters(): ReactNode {
  const t = useTexts();
  const setFull = useFormView((state) => state.setFull);
  return (
    <div className={styles["panel"]}>
      <Button kind="quiet" onClick={() => setFull(true)}><Icon name="fit" size={16} /> {t("parameters.full")}</Button>
      <Form isEditable />
    </div>
  );
}
