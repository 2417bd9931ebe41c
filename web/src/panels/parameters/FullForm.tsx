/** The form over the whole page, in one column that fits a phone. Escape or the button goes back to the canvas. */

import { type ReactNode, useEffect, useRef } from "react";
import { createPortal } from "react-dom";

import { useDocument } from "../../state/documents";
import { useFormView } from "../../state/form";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import { Form } from "./Form";
import styles from "./parameters.module.css";

export function FullForm(): ReactNode {
  const t = useTexts();
  const name = useDocument().name;
  const setFull = useFormView((state) => state.setFull);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return createPortal(
    <section
      className={styles["full"]} aria-label={t("parameters.title")}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape" && !event.defaultPrevented) setFull(false);
      }}
    >
      <header>
        <h2 ref={title} tabIndex={-1}>{name ?? t("parameters.title")}</h2>
        <Button onClick={() => setFull(false)}><Icon name="workflows" /> {t("parameters.canvas")}</Button>
      </header>
      <Form isEditable={false} />
    </section>,
    document.body,
  );
}
