import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";

import { Lean } from "./Lean";
import { type WidgetProps, taken, useEditing } from "./widget";
import styles from "./widgets.module.css";

/** A text of one line or several. */
export function TextWidget(props: WidgetProps): ReactNode {
  const { port, value, onChange, label } = props;
  const isTall = port.hint?.hint === "text" && port.hint.multiline;
  const editing = useEditing();
  if (editing.session === 0) return <Lean {...props} editing={editing} isTall={isTall} />;
  const shown = taken(port, value).value;
  return (
    <TextField
      text={typeof shown === "string" ? shown : ""}
      isTall={isTall}
      label={label}
      onText={(text) => onChange(text, editing.session)}
      onCancel={() => onChange(value, editing.session)}
      onEnd={editing.stop}
    />
  );
}

interface FieldProps {
  readonly text: string;
  readonly isTall: boolean;
  readonly label: string;
  readonly isInvalid?: boolean;
  onText(text: string): void;
  onCancel(): void;
  onEnd(focus: boolean): void;
}

/** Several lines are kept when Escape ends the edit; one line goes back to what it was. */
export function TextField({ text, isTall, label, isInvalid = false, onText, onCancel, onEnd }: FieldProps): ReactNode {
  const [typed, setTyped] = useState(text);
  const cancel = useRef(onCancel); // as it was at first: back to the first value
  const write = (next: string): void => {
    setTyped(next);
    onText(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Not the canvas's; Tab goes on through the page, and commands have their keys (run, save) while one types too.
    if (event.key !== "Tab" && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.nativeEvent.isComposing) return;
    const isDone = event.key === "Enter" && (!isTall || event.ctrlKey || event.metaKey);
    if (event.key === "Escape" && !isTall) cancel.current();
    if (isDone || event.key === "Escape") {
      if (!event.ctrlKey && !event.metaKey) event.preventDefault();
      onEnd(true);
    }
  };
  const shared = { value: typed, autoFocus: true, "aria-label": label, "aria-invalid": isInvalid, onKeyDown, onBlur: () => { if (!isInvalid) onEnd(false); } };
  if (!isTall) return <input {...shared} className={`nodrag nowheel ${styles["input"]}`} onChange={(event) => write(event.currentTarget.value)} />;
  return (
    <textarea
      {...shared}
      className={`nodrag nowheel nopan ${styles["input"]} ${styles["area"]}`}
      spellCheck={false}
      onFocus={(event) => event.currentTarget.setSelectionRange(typed.length, typed.length)}
      onChange={(event) => write(event.currentTarget.value)}
    />
  );
}
