/** Short messages at the edge of the page: `say("saved")`, `say(message, { kind: "bad" })`. Errors stay until closed. */

import { create } from "zustand";

import { useTexts } from "../texts";
import { Icon } from "./icons";
import styles from "./toasts.module.css";

export type ToastKind = "plain" | "good" | "warn" | "bad";

interface Toast {
  readonly number: number;
  readonly text: string;
  readonly kind: ToastKind;
  readonly action?: { readonly title: string; run(): void };
}

const useToasts = create<{ readonly shown: readonly Toast[] }>()(() => ({ shown: [] }));
const SECONDS = 6;
let numbers = 0;

export function say(text: string, more: { kind?: ToastKind; action?: { title: string; run(): void } } = {}): void {
  const toast: Toast = { number: ++numbers, text, kind: more.kind ?? "plain", ...(more.action ? { action: more.action } : {}) };
  useToasts.setState((state) => ({ shown: [...state.shown.filter((one) => one.text !== text), toast].slice(-5) }));
  if (toast.kind !== "bad") setTimeout(() => unsay(toast.number), SECONDS * 1000);
}

function unsay(number: number): void {
  useToasts.setState((state) => ({ shown: state.shown.filter((one) => one.number !== number) }));
}

/** Where toasts appear; once in the page. */
export function Toasts(): React.ReactNode {
  const t = useTexts();
  const shown = useToasts((state) => state.shown);
  return (
    <div className={styles["toasts"]} role="status" aria-live="polite">
      {shown.map((one) => (
        <div key={one.number} className={`${styles["toast"]} ${styles[one.kind]}`}>
          <span>{one.text}</span>
          {one.action !== undefined && (
            <button type="button" onClick={() => { unsay(one.number); one.action?.run(); }}>{one.action.title}</button>
          )}
          <button type="button" aria-label={t("layout.close_dialog")} title={t("layout.close_dialog")} onClick={() => unsay(one.number)}><Icon name="close" size={14} /></button>
        </div>
      ))}
    </div>
  );
}
