import { type ReactNode, useId, useState } from "react";

import { t } from "../texts";
import type { Question } from "./ask";
import styles from "./ask.module.css";
import { Button } from "./Button";
import { Dialog, closeDialog } from "./dialogs";
import { Field } from "./Field";
import fieldStyles from "./Field.module.css";

type Props = Question & { readonly onAnswer: (text: string | null) => void };

export function AskDialog({ title, label, value = "", hint, placeholder, isEmptyAllowed = false, check, onAnswer }: Props): ReactNode {
  const [text, setText] = useState(value);
  const form = useId();
  const problem = text === value ? undefined : check?.(text);
  const isDone = problem === undefined && (isEmptyAllowed || text.trim() !== "");
  return (
    <Dialog title={title} size="s" onClose={() => onAnswer(null)}>
      <form
        id={form} className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isDone) return;
          closeDialog();
          onAnswer(text.trim());
        }}
      >
        <Field label={label} hint={hint} problem={problem}>
          {(ids) => (
            <input
              {...ids} type="text" className={fieldStyles["input"]} value={text} placeholder={placeholder} autoFocus autoComplete="off" spellCheck={false}
              onFocus={(event) => event.target.select()} onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <div className={styles["buttons"]}>
          <Button onClick={() => { closeDialog(); onAnswer(null); }}>{t("layout.cancel")}</Button>
          <Button kind="primary" type="submit" disabled={!isDone}>{t("layout.ok")}</Button>
        </div>
      </form>
    </Dialog>
  );
}
