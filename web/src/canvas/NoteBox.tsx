import type { NodeProps } from "@xyflow/react";
import { type ReactNode, memo, useContext } from "react";

import { setNote } from "../model/edit";
import { useDocuments } from "../state/documents";
import { t } from "../texts";
import { useEditing } from "../widgets/widget";
import { coloured, cssColour } from "./colours";
import type { FlowNode } from "./flow";
import styles from "./node.module.css";
import { Place } from "./place";
import { ResizeEdge } from "./ResizeEdge";

/** A note: text that says something to people. A double click, or Enter, edits it. */
export const NoteBox = memo(
  function NoteBox({ data, selected }: NodeProps<FlowNode>): ReactNode {
    const { scope } = useContext(Place);
    const editing = useEditing();
    if (data.item.kind !== "note") return null;
    const { note } = data.item;
    const write = (text: string): void => {
      useDocuments.getState().apply("canvas.noted", setNote(scope, note.id, { text }), `note:${note.id}:${editing.session}`);
    };
    return (
      <div className={`${styles["note"]} ${selected ? styles["selected"] : ""}`} style={coloured(cssColour(note.color) ?? "var(--c-yellow)")} onDoubleClick={editing.start}>
        {editing.session === 0 ? (
          <button ref={editing.lean} type="button" data-widget="text" className={styles["noteText"]} tabIndex={selected ? 0 : -1} onClick={(event) => { if (event.detail === 0) editing.start(); }}>
            {note.text === "" ? t("canvas.emptyNote") : note.text}
          </button>
        ) : (
          <textarea
            className={`nodrag nowheel nopan ${styles["noteInput"]}`}
            defaultValue={note.text}
            autoFocus
            aria-label={t("canvas.noteText")}
            onFocus={(event) => event.currentTarget.setSelectionRange(note.text.length, note.text.length)}
            onChange={(event) => write(event.currentTarget.value)}
            onBlur={() => editing.stop(false)}
            onKeyDown={(event) => {
              event.stopPropagation();
              if (event.key === "Escape") editing.stop(true);
            }}
          />
        )}
        <ResizeEdge id={data.item.id} item={data.item} edges="both" />
      </div>
    );
  },
  (before, after) => before.data === after.data && before.selected === after.selected,
);
