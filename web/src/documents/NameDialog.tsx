import { useState } from "react";

import { Problem, sentence } from "../api/client";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, useClose } from "../ui/dialogs";
import styles from "./dialogs.module.css";

interface Props {
  readonly title: string;
  readonly action: string;
  readonly initial: string;
  /** Whether a name that is taken may be replaced: `submit` gets the version that was seen. */
  readonly mayReplace?: boolean;
  submit(name: string, over?: string): Promise<void>;
}

/** Asks for a name; what the server does not take is shown in its own words, and can be changed. */
export function NameDialog({ title, action, initial, mayReplace = false, submit }: Props): React.ReactNode {
  const t = useTexts();
  const [name, setName] = useState(initial);
  const [problem, setProblem] = useState<{ readonly text: string; readonly taken: string | undefined } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const close = useClose();
  const send = async (over?: string): Promise<void> => {
    setBusy(true);
    try {
      await submit(name.trim(), over);
      close();
    } catch (error) {
      setProblem({ text: sentence(error), taken: error instanceof Problem && error.status === 412 ? error.etag : undefined });
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} size="s">
      <form className={styles["form"]} onSubmit={(event) => { event.preventDefault(); void send(); }}>
        <label>
          {t("documents.name")}
          <input
            value={name} autoFocus required maxLength={128} spellCheck={false} aria-describedby="name-hint"
            onFocus={(event) => event.target.select()}
            onChange={(event) => { setName(event.target.value); setProblem(null); }}
          />
        </label>
        <p id="name-hint" className={styles["hint"]}>{t("documents.name_hint")}</p>
        {problem !== null && <p role="alert" className={styles["bad"]}>{problem.text}</p>}
        {problem?.taken !== undefined && mayReplace && <p className={styles["hint"]}>{t("documents.replace_hint")}</p>}
        <div className={styles["buttons"]}>
          <Button onClick={close}>{t("documents.cancel")}</Button>
          {problem?.taken !== undefined && mayReplace && (
            <Button kind="danger" disabled={isBusy} onClick={() => void send(problem.taken)}>{t("documents.replace")}</Button>
          )}
          <Button kind="primary" type="submit" disabled={isBusy || name.trim() === ""}>{action}</Button>
        </div>
      </form>
    </Dialog>
  );
}
