/** Parts of a panel, one at a time. */

import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";

import styles from "./Tabs.module.css";

interface Props<T extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: T; readonly title: string }[];
  readonly shown: T;
  readonly onShow: (id: T) => void;
  readonly children: ReactNode;
}

export function Tabs<T extends string>({ label, tabs, shown, onShow, children }: Props<T>): ReactNode {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const key = (event: KeyboardEvent): void => {
    const index = tabs.findIndex((tab) => tab.id === shown);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step !== undefined ? (index + step + tabs.length) % tabs.length : { Home: 0, End: tabs.length - 1 }[event.key];
    const tab = next === undefined ? undefined : tabs[next];
    if (tab === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onShow(tab.id);
    list.current?.querySelectorAll<HTMLButtonElement>("button")[next ?? 0]?.focus();
  };
  return (
    <>
      <div ref={list} role="tablist" aria-label={label} className={styles["tabs"]} onKeyDown={key}>
        {tabs.map((tab) => (
          <button
            key={tab.id} type="button" role="tab" id={`${id}-${tab.id}`} aria-controls={`${id}-content`} aria-selected={tab.id === shown}
            tabIndex={tab.id === shown ? 0 : -1} className={styles["tab"]} onClick={() => onShow(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-content`} aria-labelledby={`${id}-${shown}`}>{children}</div>
    </>
  );
}
