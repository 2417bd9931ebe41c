/** The open documents as tabs: which is shown, what is not saved, what becomes of it. */

import { useEffect, useRef } from "react";

import { useConflicts } from "../state/conflicts";
import { type OpenDocument, useDocuments } from "../state/documents";
import { closeTab, moveTab, newDocument, shownName } from "../documents/actions";
import { isMirroring } from "../state/mirror";
import { useIsChanged, useSaving } from "../state/saving";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import type { Bar } from "./bar";
import styles from "./Tabs.module.css";

const TAB = "application/x-latentgraph-tab";

function Tabs(): React.ReactNode {
  const t = useTexts();
  const open = useDocuments((state) => state.open);
  const active = useDocuments((state) => state.active);
  const shown = open.find((one) => one.id === active);
  useNumbers();
  return (
    <nav className={styles["tabs"]} aria-label={t("documents.tabs")}>
      <ul className={styles["list"]}>
        {open.map((one, index) => <Tab key={one.id} one={one} index={index} isActive={one === shown} />)}
      </ul>
      <Button kind="quiet" label={t("documents.new")} onClick={newDocument}>+</Button>
      {shown === undefined ? <PlainTitle /> : <Kept key={shown.id} one={shown} />}
    </nav>
  );
}

function Tab({ one, index, isActive }: { readonly one: OpenDocument; readonly index: number; readonly isActive: boolean }): React.ReactNode {
  const t = useTexts();
  const isChanged = useIsChanged(one);
  const element = useRef<HTMLLIElement>(null);
  const name = shownName(one);
  useEffect(() => {
    if (isActive) element.current?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [isActive]);
  return (
    <li
      ref={element}
      className={styles["tab"]}
      data-active={isActive}
      draggable
      onDragStart={(event) => {
        event.dataTransfer.setData(TAB, one.id);
        event.dataTransfer.effectAllowed = "move";
      }}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes(TAB)) event.preventDefault();
      }}
      onDrop={(event) => {
        const moved = event.dataTransfer.getData(TAB);
        if (moved === "") return;
        event.preventDefault();
        moveTab(moved, index);
      }}
      onAuxClick={(event) => {
        if (event.button === 1) void closeTab(one.id);
      }}
    >
      <button
        type="button" className={styles["name"]} title={name} aria-current={isActive ? "page" : undefined}
        onClick={() => useDocuments.getState().activate(one.id)}
      >
        <span className={one.workflow === null ? styles["untitled"] : styles["text"]}>{name}</span>
        {isChanged && <span className={styles["mark"]} aria-hidden="true">•</span>}
        {isChanged && <span className={styles["spoken"]}>, {t("documents.unsaved")}</span>}
      </button>
      <button type="button" className={styles["close"]} aria-label={t("documents.close", { name })} title={t("documents.close", { name })} onClick={() => void closeTab(one.id)}>
        ×
      </button>
    </li>
  );
}

/** Whether the changes of the document that is shown are on the server, if they are not; and the title of the window. */
function Kept({ one }: { readonly one: OpenDocument }): React.ReactNode {
  const t = useTexts();
  const isChanged = useIsChanged(one);
  const kept = useSaving((state) => state.states[one.id]);
  const putAside = useConflicts((state) => state.putAside.find((conflict) => conflict.key === one.id || conflict.key.startsWith(`file:${one.id}:`)));
  useEffect(() => {
    document.title = `${isChanged ? "• " : ""}${shownName(one)} – Latentgraph`;
  });
  if (putAside !== undefined) {
    return <Button kind="quiet" className={styles["bad"] ?? ""} onClick={() => useConflicts.getState().again(putAside.key)}>{t("documents.state_conflict")}</Button>;
  }
  if (kept === undefined || kept.state === "kept" || kept.state === "pending" || kept.state === "conflict") return null;
  if (kept.state === "refused") return <span role="status" className={styles["bad"]} title={kept.detail ?? ""}>{t("documents.state_refused", { detail: kept.detail ?? "" })}</span>;
  const isSafe = isMirroring();
  return <span role="status" className={isSafe ? styles["warn"] : styles["bad"]} title={kept.detail ?? ""}>{t(isSafe ? "documents.state_away" : "documents.state_away_unsafe")}</span>;
}

function PlainTitle(): React.ReactNode {
  useEffect(() => {
    document.title = "Latentgraph";
  });
  return null;
}

/** Alt+1 to Alt+9 show a tab, 9 the last one; not while somebody types. */
function useNumbers(): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
      if (digit === undefined || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || isTyping(event.target)) return;
      const { open, activate } = useDocuments.getState();
      const one = digit === "9" ? open.at(-1) : open[Number(digit) - 1];
      if (one === undefined) return;
      event.preventDefault();
      activate(one.id);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}

const bar: Bar = { place: "middle", order: 10, Component: Tabs };
export default bar;
