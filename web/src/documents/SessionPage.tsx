import { useEffect, useRef, useState } from "react";

import { sentence } from "../api/client";
import { enter } from "../api/session";
import { useDocuments } from "../state/documents";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import styles from "./SessionPage.module.css";

/** There is no session: how to get one, and a field for the link or the token. What is open stays beneath it. */
export function SessionPage(): React.ReactNode {
  const t = useTexts();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const hasOpen = useDocuments((state) => state.open.length > 0);
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  const send = (): void => {
    enter(text).catch((error: unknown) => setProblem(sentence(error)));
  };
  return (
    <dialog
      ref={element} className={styles["page"]} aria-labelledby="session-title"
      onCancel={(event) => event.preventDefault()} onClose={() => element.current?.showModal()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <form className={styles["box"]} onSubmit={(event) => { event.preventDefault(); send(); }}>
        <h1 id="session-title">{t("documents.session_title")}</h1>
        <p>{t("documents.session_why")}</p>
        {hasOpen && <p>{t("documents.session_kept")}</p>}
        <label>
          {t("documents.session_token")}
          <input
            type="password" autoComplete="off" autoFocus required value={text}
            onChange={(event) => { setText(event.target.value); setProblem(null); }}
          />
        </label>
        {problem !== null && <p role="alert" className={styles["bad"]}>{problem}</p>}
        <Button kind="primary" type="submit">{t("documents.session_open")}</Button>
      </form>
    </dialog>
  );
}
