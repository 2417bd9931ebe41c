/** What all widgets share: what they are given, what a value looks like as text, and being edited or not. */

import { type RefObject, useEffect, useRef, useState } from "react";

import type { InputPort } from "../model/catalogue";
import { type Json, isFile, isLink, isRandom } from "../model/document";
import { t } from "../texts";

export interface WidgetProps {
  readonly port: InputPort;
  /** Undefined: not written, so the default is taken. */
  readonly value: Json | undefined;
  /** Values with the same session belong to one step of undo. Undefined: take the default. */
  onChange(value: Json | undefined, session: number): void;
  /** Its name for screen readers. */
  readonly label: string;
  readonly tabIndex?: number;
}

/** The value that is taken, and whether that is the default. */
export function taken(port: InputPort, value: Json | undefined): { readonly value: Json | undefined; readonly isDefault: boolean } {
  return value === undefined ? { value: port.default, isDefault: true } : { value, isDefault: false };
}

/** A value in a few words, as it stands on a node. */
export function textOf(port: InputPort, value: Json | undefined): string {
  const shown = taken(port, value).value;
  if (shown === undefined || shown === null) return port.optional || shown === null ? t("widgets.automatic") : t("widgets.needed");
  if (isRandom(shown)) return t("widgets.random");
  if (isFile(shown)) return shown.file ?? shown.sha256.slice(0, 12);
  if (isLink(shown)) return shown.link;
  if (typeof shown === "string") return shown;
  if (Array.isArray(shown)) return shown.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ");
  return typeof shown === "object" ? JSON.stringify(shown) : String(shown);
}

export interface Editing {
  /** Number of the edit that goes on; 0 while the value is only shown. */
  readonly session: number;
  readonly lean: RefObject<HTMLButtonElement | null>;
  start(): void;
  /** End the edit; `focus`: the shown value is focused again (the keyboard ended it). */
  stop(focus: boolean): void;
}

let sessions = 0;

export function newSession(): number {
  return ++sessions;
}

export function useEditing(): Editing {
  const [session, setSession] = useState(0);
  const lean = useRef<HTMLButtonElement>(null);
  const isBack = useRef(false);
  useEffect(() => {
    if (session === 0 && isBack.current) lean.current?.focus();
    isBack.current = false;
  }, [session]);
  return {
    session,
    lean,
    start: () => setSession(newSession()),
    stop: (focus) => {
      isBack.current = focus;
      setSession(0);
    },
  };
}
