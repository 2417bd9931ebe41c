import { type ReactNode, useState } from "react";

import { t } from "../texts";
import styles from "./node.module.css";

/** A title that a double click makes editable. Enter and leaving it keep what was typed, Escape does not. */
export function TitleField({ title, onTitle, isFixed = false }: { readonly title: string; onTitle(title: string): void; readonly isFixed?: boolean }): ReactNode {
  const [typed, setTyped] = useState<string | null>(null);
  if (typed === null) {
    return (
      <span className={styles["title"]} data-title onDoubleClick={isFixed ? undefined : (event) => { event.stopPropagation(); setTyped(title); }}>
        {title}
      </span>
    );
  }
  const end = (text: string): void => {
    setTyped(null);
    if (text.trim() !== "" && text !== title) onTitle(text.trim());
  };
  return (
    <input
      className={`nodrag ${styles["titleInput"]}`}
      value={typed}
      autoFocus
      aria-label={t("nodes.title")}
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => end(typed)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") end(typed);
        if (event.key === "Escape") setTyped(null);
      }}
    />
  );
}
