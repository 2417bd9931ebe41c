/** The open documents as tabs: which is shown, what is not saved, what becomes of it. */

import { useEffect, useRef } from "react";
import { useShallow } from "zustand/react/shallow";

import { isField } from "../commands/focus";
import { closeTab, moveTab, newDocument, shownName } from "../documents/actions";
import { useConflicts } from "../state/conflicts";
import { useDocuments } from "../state/documents";
import { isMirroring } from "../state/mirror";
import { useIsChanged, useSaving } from "../state/saving";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import type { Bar } from "./bar";
import styles from "./Tabs.module.css";

const TAB = "application/x-latentgraph-tab";

function Tabs(): React.ReactNode {
  const t = useTexts();
  const ids = useDocuments(useShallow((state) => state.open.map((one) => one.id)));
  const active = useDocuments((state) => state.active);
  useNumbers();
  return (
    <nav className={styles["tabs"]} aria-label={t("documents.tabs")}>
      <ul className={styles["list"]}>
        {ids.map((id, index) => <Tab key={id} id={id} index={index} isActive={id === active} />)}
      </ul>
      <Button kind="quiet" label={t("documents.new")} onClick={newDocument}>+</Button>
      {ids.includes(active) ? <Kept key={active} id={active} /> : <PlainTitle />}
    </nav>
  );
}

/** What an open document is called; a tab renders again only when that changes. */
function useName(id: string): string {
  useTexts();
  return useDocuments((state) => {
    const one = state.open.find((candidate) => candidate.id === id);
    return one === undefined ? "" : shownName(one);
  });
}

function Tab({ id, index, isActive }: { readonly id: string; readonly index: number; readonly isActive: boolean }): React.ReactNode {
  const t = useTexts();
  const isChanged = useIsChanged(id);
  const name = useName(id);
  const isUntitled = useDocuments((state) => state.open.find((one) => one.id === id)?.workflow == null);
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isActive) element.current?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [isActive]);
  const close = (): void => void closeTab(id);
  return (
    <li
      ref={element}
      className={styles["tab"]}
      data-active={isActive}
      draggable
      onDragStart={(event) => {
        event.dataTransfer.setData(TAB, id);
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
        if (event.button === 1) close();
      }}
    >
      <button
        type="button" className={styles["name"]} title={name} aria-current={isActive ? "page" : undefined}
        onClick={() => useDocuments.getState().activate(id)}
      >
        <span className={isUntitled ? styles["untitled"] : styles["text"]}>{name}</span>
        {isChanged && <span className={styles["mark"]} aria-hidden="true">•</span>}
        {isChanged && <span className={styles["spoken"]}>, {t("documents.unsaved")}</span>}
      </button>
      <button type="button" className={styles["close"]} aria-label={t("documents.close", { name })} title={t("documents.close", { name })} onClick={close}>
        ×
      </button>
    </li>
  );
}

/** Where the changes of the document that is shown are, if not on the server; and the title of the window. */
function Kept({ id }: { readonly id: string }): React.ReactNode {
  const t = useTexts();
  const isChanged = useIsChanged(id);
  const name = useName(id);
  const kept = useSaving((state) => state.states[id]);
  const question = useConflicts((state) => state.putAside.find(({ key }) => key === id || key.startsWith(`file:${id}:`))?.key);
  useEffect(() => {
    document.title = `${isChanged ? "• " : ""}${name} – Latentgraph`;
  }, [isChanged, name]);
  if (question !== undefined) {
    const ask = (): void => useConflicts.getState().again(question);
    return <Button kind="quiet" className={styles["bad"] ?? ""} onClick={ask}>{t("documents.state_conflict")}</Button>;
  }
  const detail = kept?.detail ?? "";
  if (kept?.state === "refused") {
    return <span role="status" className={styles["bad"]} title={detail}>{t("documents.state_refused", { detail })}</span>;
  }
  if (kept?.state !== "away") return null;
  const isSafe = isMirroring();
  return (
    <span role="status" className={isSafe ? styles["warn"] : styles["bad"]} title={detail}>
      {t(isSafe ? "documents.state_away" : "documents.state_away_unsafe")}
    </span>
  );
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
      if (digit === undefined || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || isField(event.target)) return;
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

const bar: Bar = { place: "middle", order: 10, Component: Tabs };
export default bar;
