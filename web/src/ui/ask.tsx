/** Asking for a line of text: `await askText({...})` gives it, or null if one thinks better of it. */

import { type ReactNode, useId, useState } from "react";

import { t } from "../texts";
import styles from "./ask.module.css";
import { Button } from "./Button";
import { Dialog, closeDialog, showDialog } from "./dialogs";
import { Field } from "./Field";
import fieldStyles from "./Field.module.css";

interface Question {
  readonly title: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isEmptyAllowed?: boolean;
  /** The sentence that says why this cannot be taken; undefined: it can. */
  readonly check?: (text: string) => string | undefined;
}

export function askText(question: Question): Promise<string | null> {
  return new Promise((resolve) => showDialog(<Ask {...question} onAnswer={resolve} />));
}

function Ask({ title, label, value = "", hint, placeholder, isEmptyAllowed = false, check, onAnswer }: Question & { readonly onAnswer: (text: string | null) => void }): ReactNode {
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
