import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";

import { useTexts } from "../texts";
import { Lean } from "./Lean";
import { type WidgetProps, taken, useEditing } from "./widget";
import styles from "./widgets.module.css";

/** One of the options of the port. */
export function ChoiceWidget(props: WidgetProps): ReactNode {
  const { port } = props;
  return <Choice {...props} options={port.hint?.hint === "choice" ? port.hint.options : []} />;
}

type Props = WidgetProps & { readonly options: readonly string[]; readonly onOpen?: () => void };

/** A list to choose from. A value that is not among the options is kept, and said to be missing. */
export function Choice({ options, onOpen, ...props }: Props): ReactNode {
  const { port, value, onChange, label } = props;
  const t = useTexts();
  const editing = useEditing();
  const list = useRef<HTMLSelectElement>(null);
  useEffect(() => {
    if (editing.session === 0) return;
    try {
      list.current?.showPicker();
    } catch {
      // Not every browser opens it without a click of its own; it is focused, and one more key opens it.
    }
  }, [editing.session]);
  if (editing.session === 0) {
    return (
      <Lean {...props} editing={{ ...editing, start: () => { onOpen?.(); editing.start(); } }} aria-haspopup="listbox">
        {undefined}
      </Lean>
    );
  }
  const written = typeof value === "string" ? value : "";
  const usual = taken(port, undefined).value;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Tab" && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.key === "Escape") editing.stop(true);
  };
  return (
    <select
      ref={list}
      className={`nodrag nowheel ${styles["input"]}`}
      value={written}
      autoFocus
      aria-label={label}
      onChange={(event) => {
        onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.value, editing.session);
        editing.stop(true);
      }}
      onBlur={() => editing.stop(false)}
      onKeyDown={onKeyDown}
    >
      {(usual !== undefined || port.optional || written === "") && (
        <option value="">{typeof usual === "string" ? t("widgets.defaultIs", { value: usual }) : port.optional ? t("widgets.automatic") : t("widgets.needed")}</option>
      )}
      {options.map((option) => <option key={option} value={option}>{option}</option>)}
      {written !== "" && !options.includes(written) && <option value={written}>{t("widgets.missing", { value: written })}</option>}
    </select>
  );
}
