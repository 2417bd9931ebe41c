import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";

import { useTexts } from "../texts";
import { whilePressed } from "../ui/drag";
import { Lean } from "./Lean";
import { partOf, rangeOf, readNumber, stepOf, stepped } from "./numbers";
import { type WidgetProps, newSession, taken, textOf, useEditing } from "./widget";
import styles from "./widgets.module.css";

/** A number: typed, stepped with the arrows, or drawn sideways where it has a range. */
export function NumberWidget(props: WidgetProps): ReactNode {
  const { port, value, onChange } = props;
  const editing = useEditing();
  const scrub = useScrub(props);
  const shown = taken(port, value).value;
  if (editing.session === 0) {
    return <Lean {...props} editing={{ ...editing, start: () => { if (!scrub.wasDrawn()) editing.start(); } }} full={partOf(port, shown)} {...scrub.handlers} />;
  }
  return <NumberField {...props} onChange={(next) => onChange(next, editing.session)} onEnd={editing.stop} />;
}

type FieldProps = Omit<WidgetProps, "onChange"> & {
  onChange(value: number | undefined): void;
  onEnd(focus: boolean): void;
};

function NumberField({ port, value, onChange, onEnd, label }: FieldProps): ReactNode {
  const t = useTexts();
  const first = useRef(value);
  const [text, setText] = useState(() => (typeof value === "number" ? String(value) : ""));
  const reading = readNumber(port, text);
  const range = rangeOf(port);
  const flaw = "flaw" in reading
    ? reading.flaw === "range" ? t("widgets.flawRange", { label, low: range?.low ?? "", high: range?.high ?? "", found: text })
      : t(reading.flaw === "whole" ? "widgets.flawWhole" : "widgets.flawNumber", { label, found: text })
    : null;
  const write = (typed: string): void => {
    setText(typed);
    const next = readNumber(port, typed);
    if ("value" in next) onChange(next.value);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.key !== "Tab" && !isCommand) event.stopPropagation();
    if (event.key === "Enter" && !isCommand) event.preventDefault(); // or it would press the button that is focused next
    if (event.key === "Enter" && flaw === null) onEnd(true);
    if (event.key === "Escape") {
      onChange(typeof first.current === "number" ? first.current : undefined);
      onEnd(true);
    }
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      const from = "value" in reading && reading.value !== undefined ? reading.value : Number(port.default ?? range?.low ?? 0);
      write(String(stepped(port, from, (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1))));
    }
  };
  return (
    <span className={styles["field"]}>
      <input
        className={`nodrag nowheel ${styles["input"]}`}
        value={text}
        inputMode="decimal"
        autoFocus
        placeholder={textOf(port, undefined)}
        aria-label={label}
        aria-invalid={flaw !== null}
        onFocus={(event) => event.currentTarget.select()}
        onChange={(event) => write(event.currentTarget.value)}
        onBlur={() => { if (flaw === null) onEnd(false); }}
        onKeyDown={onKeyDown}
      />
      {flaw !== null && <span role="alert" className={styles["flaw"]}>{flaw}</span>}
    </span>
  );
}

const THRESHOLD_PX = 4;

/** Drawing a value with a range sideways: the whole width is the whole range. */
function useScrub({ port, onChange }: WidgetProps): {
  readonly handlers: { onPointerDown(event: PointerEvent<HTMLButtonElement>): void };
  wasDrawn(): boolean;
} {
  const drawn = useRef(false);
  const range = rangeOf(port);
  const onPointerDown = (event: PointerEvent<HTMLButtonElement>): void => {
    drawn.current = false;
    if (range === undefined || event.button !== 0 || event.pointerType === "touch") return;
    const element = event.currentTarget;
    const box = element.getBoundingClientRect();
    const startX = event.clientX;
    const session = newSession();
    const move = (moved: globalThis.PointerEvent): void => {
      if (!drawn.current && Math.abs(moved.clientX - startX) < THRESHOLD_PX) return;
      drawn.current = true;
      const part = Math.min(1, Math.max(0, (moved.clientX - box.left) / box.width));
      const step = stepOf(port);
      onChange(stepped(port, Math.round((range.low + part * (range.high - range.low)) / step) * step, 0), session);
    };
    whilePressed(move);
  };
  return { handlers: { onPointerDown }, wasDrawn: () => drawn.current };
}
