/**
 * Fields with their names: a line of text, lines of text, a choice, a switch. What is typed counts at once; what must be
 * checked counts when one leaves the field or presses Enter.
 */

import { type ReactNode, useEffect, useId, useRef, useState } from "react";

import styles from "./Field.module.css";

interface FieldProps {
  readonly label: string;
  /** What it is for, below it. */
  readonly hint?: ReactNode;
  /** What is wrong with what is typed; it is not taken then. */
  readonly problem?: string | undefined;
  readonly children: (ids: { readonly id: string; readonly "aria-describedby": string | undefined; readonly "aria-invalid": boolean }) => ReactNode;
}

/** A name, what it names, and what to know about it. */
export function Field({ label, hint, problem, children }: FieldProps): ReactNode {
  const id = useId();
  const about = hint !== undefined || problem !== undefined ? `${id}-about` : undefined;
  return (
    <div className={styles["field"]}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": about, "aria-invalid": problem !== undefined })}
      {about !== undefined && <div id={about} className={problem === undefined ? styles["hint"] : styles["problem"]}>{problem ?? hint}</div>}
    </div>
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  /** What is typed without leaving the field has the same session: it is one step of undo. */
  readonly onChange: (value: string, session: string) => void;
  readonly hint?: ReactNode;
  /** The sentence that says why what is typed cannot be taken; undefined: it can. With it, what is typed counts at the end. */
  readonly check?: (value: string) => string | undefined;
  readonly isMultiline?: boolean;
  readonly isMono?: boolean;
  readonly placeholder?: string;
}

let sessions = 0;

export function TextField({ label, value, onChange, hint, check, isMultiline = false, isMono = false, placeholder }: TextProps): ReactNode {
  const [typed, setTyped] = useState(value);
  const session = useRef("");
  useEffect(() => setTyped(value), [value]);
  const problem = typed === value ? undefined : check?.(typed);
  const take = (): void => {
    if (typed !== value && check?.(typed) === undefined) onChange(typed, session.current);
  };
  const write = (text: string): void => {
    setTyped(text);
    if (check === undefined) onChange(text, session.current);
  };
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => {
        const common = {
          ...ids, value: typed, placeholder, spellCheck: false, onBlur: take,
          onFocus: () => { session.current = `field ${++sessions}`; },
          className: `${styles["input"]} ${isMono ? styles["mono"] : ""}`,
        };
        if (isMultiline) {
          return <textarea {...common} rows={3} onChange={(event) => write(event.target.value)} />;
        }
        return (
          <input
            {...common} type="text" onChange={(event) => write(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") take();
              if (event.key === "Escape" && typed !== value) setTyped(value);
            }}
          />
        );
      }}
    </Field>
  );
}

interface SelectProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly title: string }[];
  readonly onChange: (value: T) => void;
  readonly hint?: ReactNode;
}

export function Select<T extends string>({ label, value, options, onChange, hint }: SelectProps<T>): ReactNode {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select
          {...ids} className={styles["input"]} value={value}
          onChange={(event) => onChange(event.target.value as T)} // one of the options
        >
          {options.map((option) => <option key={option.value} value={option.value}>{option.title}</option>)}
        </select>
      )}
    </Field>
  );
}

/** One of a few, all of them seen. */
export function Choice<T extends string>({ label, value, options, onChange, hint }: SelectProps<T>): ReactNode {
  const id = useId();
  return (
    <fieldset className={styles["choice"]}>
      <legend>{label}</legend>
      <div className={styles["options"]}>
        {options.map((option) => (
          <label key={option.value} className={styles["option"]}>
            <input type="radio" name={id} checked={option.value === value} onChange={() => onChange(option.value)} />
            <span>{option.title}</span>
          </label>
        ))}
      </div>
      {hint !== undefined && <div className={styles["hint"]}>{hint}</div>}
    </fieldset>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly hint?: string;
}

export function Switch({ label, isOn, onChange, hint }: SwitchProps): ReactNode {
  const id = useId();
  return (
    <div className={styles["switch"]}>
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && <div id={`${id}-about`} className={styles["hint"]}>{hint}</div>}
      </div>
      <input
        id={id} type="checkbox" role="switch" checked={isOn} aria-describedby={hint === undefined ? undefined : `${id}-about`}
        onChange={(event) => onChange(event.target.checked)}
      />
    </div>
  );
}
