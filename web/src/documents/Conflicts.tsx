import { useState } from "react";

import { type Choice, type Conflict, useConflicts } from "../state/conflicts";
import { useLanguage, useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/dialogs";
import { attempt } from "./actions";
import { Differences, differencesThatCount } from "./Differences";
import styles from "./dialogs.module.css";

/** Two contents of one document: which one counts? Closing it decides nothing. */
export function ConflictDialog({ conflict }: { readonly conflict: Conflict }): React.ReactNode {
  const t = useTexts();
  const language = useLanguage((state) => state.language);
  const [areShown, show] = useState(false);
  const { key, name, time } = conflict;
  const mine = conflict.mine();
  const count = differencesThatCount(mine, conflict.theirs).length;
  const when = new Date(time * 1000).toLocaleString(language, { dateStyle: "short", timeStyle: "medium" });
  const answer = (choice: Choice): void => void attempt(() => useConflicts.getState().answer(key, choice));
  const later = (): void => useConflicts.getState().putOff(key);
  const hint = conflict.with === "file" ? "documents.keep_mine_hint" : "documents.keep_mine_page_hint";
  return (
    <Dialog title={t("documents.conflict_title", { name: name || t("documents.untitled") })} size="m" onClose={() => queueMicrotask(later)}>
      <p className={styles["text"]}>{t(conflict.with === "file" ? "documents.conflict_file" : "documents.conflict_page", { time: when })}</p>
      <p className={styles["hint"]}>{count === 1 ? t("documents.conflict_one") : t("documents.conflict_counts", { count })}</p>
      <div className={styles["choices"]}>
        <ChoiceButton title={t("documents.keep_mine")} hint={t(hint)} choose={() => answer("mine")} />
        <ChoiceButton title={t("documents.take_theirs")} hint={t("documents.take_theirs_hint")} choose={() => answer("theirs")} />
        <ChoiceButton title={t("documents.keep_both")} hint={t("documents.keep_both_hint")} choose={() => answer("both")} />
      </div>
      {areShown && <Differences names={[t("documents.mine"), t("documents.theirs")]} before={mine} after={conflict.theirs} />}
      <div className={styles["buttons"]}>
        <Button aria-expanded={areShown} onClick={() => show(!areShown)}>{t("documents.show_differences")}</Button>
        <Button onClick={later}>{t("documents.decide_later")}</Button>
      </div>
    </Dialog>
  );
}

function ChoiceButton({ title, hint, choose }: { readonly title: string; readonly hint: string; choose(): void }): React.ReactNode {
  return (
    <button type="button" className={styles["choice"]} onClick={choose}>
      <strong>{title}</strong>
      <span>{hint}</span>
    </button>
  );
}
