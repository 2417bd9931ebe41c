/** Dialogs over the page: `showDialog(<Confirm ... />)`. The last one shown is in front; Escape closes it. */

import { type ReactNode, Suspense, createContext, useCallback, useContext, useEffect, useRef } from "react";
import { create } from "zustand";

import { useTexts } from "../texts";
import styles from "./dialogs.module.css";
import { Icon } from "./icons";

interface Shown {
  readonly number: number;
  readonly content: ReactNode;
}

const useDialogs = create<{ readonly shown: readonly Shown[] }>()(() => ({ shown: [] }));
let numbers = 0;

/** Show a dialog; the function that closes it. The content is usually a `<Dialog>`. */
export function showDialog(content: ReactNode): () => void {
  const number = ++numbers;
  useDialogs.setState((state) => ({ shown: [...state.shown, { number, content }] }));
  return () => close(number);
}

function close(number: number): void {
  useDialogs.setState((state) => ({ shown: state.shown.filter((one) => one.number !== number) }));
}

/** Close the dialog in front. */
export function closeDialog(): void {
  useDialogs.setState((state) => ({ shown: state.shown.slice(0, -1) }));
}

const Own = createContext(0);

/** For what stands in a dialog: closes this one, whatever is in front of it by then; nothing if it is closed already. */
export function useClose(): () => void {
  const number = useContext(Own);
  return useCallback(() => close(number), [number]);
}

export function isDialogOpen(): boolean {
  return useDialogs.getState().shown.length > 0;
}

/** Where dialogs appear; once in the page. */
export function Dialogs(): ReactNode {
  const shown = useDialogs((state) => state.shown);
  return shown.map((one) => <Own key={one.number} value={one.number}><Suspense>{one.content}</Suspense></Own>);
}

const FIRST = "form input:not([type=hidden]), form textarea, form select, input[type=search]";

interface Props {
  readonly title: string;
  readonly children: ReactNode;
  /** Called when it is closed by Escape or the cross; it is closed by itself then. */
  readonly onClose?: () => void;
  readonly size?: "s" | "m" | "l" | "full";
}

/** A modal dialog with a title. Focus goes into it and comes back. */
export function Dialog({ title, children, onClose, size = "m" }: Props): ReactNode {
  const t = useTexts();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // The browser would take the cross, which comes first; one comes to type or to choose.
    element.current?.querySelector<HTMLElement>(FIRST)?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const closeThis = useClose();
  const leave = (): void => {
    onClose?.();
    closeThis();
  };
  return (
    <dialog
      ref={element}
      className={`${styles["dialog"]} ${styles[size]}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <header className={styles["header"]}>
        <h2>{title}</h2>
        <button type="button" className={styles["close"]} onClick={leave} aria-label={t("layout.close_dialog")} title={t("layout.close_dialog")}>
          <Icon name="close" size={16} />
        </button>
      </header>
      <div className={styles["body"]}>{children}</div>
    </dialog>
  );
}
