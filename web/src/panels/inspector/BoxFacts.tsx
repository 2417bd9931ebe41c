/** A frame or a note. */

import type { ReactNode } from "react";

import { type Here, apply, nodesIn } from "../../commands/here";
import { itemOf, setFrame, setNote } from "../../model/edit";
import { viewOf } from "../../model/view";
import { useTexts } from "../../texts";
import { TextField } from "../../ui/Field";
import styles from "./Inspector.module.css";
import { ColourChoice, StateChoice } from "./Looks";

export function BoxFacts({ at, item }: { readonly at: Here; readonly item: string }): ReactNode {
  const t = useTexts();
  const { id } = itemOf(item);
  const { frames, notes } = viewOf(at.scope);
  const frame = item.startsWith("frame:") ? frames.find((one) => one.id === id) : undefined;
  const note = item.startsWith("note:") ? notes.find((one) => one.id === id) : undefined;
  const held = frame === undefined ? 0 : nodesIn(at, frame).length;
  return (
    <section className={styles["section"]}>
      {frame !== undefined && <TextField label={t("edit.title")} value={frame.title} onChange={(title, session) => apply("edit.rename", setFrame(at.scopeId, id, { title }), session)} />}
      {note !== undefined && <TextField label={t("inspector.text")} value={note.text} isMultiline onChange={(text, session) => apply("inspector.text", setNote(at.scopeId, id, { text }), session)} />}
      {held > 0 && <StateChoice at={at} />}
      <ColourChoice now={[(frame ?? note)?.color]} />
      {frame !== undefined && <p className={styles["hint"]}>{t("inspector.frame_holds", { count: held })}</p>}
    </section>
  );
}
