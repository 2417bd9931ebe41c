/** The results, newest first: pictures in a grid that loads more as one scrolls, with filters above. */

import { type ReactNode, useCallback, useEffect, useRef } from "react";

import type { Output } from "../../api/results";
import { onSocketEvents } from "../../state/connection";
import { useGallery } from "../../state/gallery";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { openCompare } from "../../viewer/Compare";
import { openOutput } from "../../viewer/Viewer";
import { Card } from "./Card";
import { Filters } from "./Filters";
import styles from "./gallery.module.css";

/** How often the list is looked at again while it is seen, for what no job of this server made. */
const REFRESH_MS = 15_000;

export function Gallery(): ReactNode {
  const outputs = useGallery((state) => state.outputs);
  useRefreshing();
  return (
    <section className={styles["gallery"]}>
      <header className={styles["head"]}>
        <Filters />
        <CompareHint />
      </header>
      <ul className={styles["grid"]} onKeyDown={moveFocus}>
        {outputs.map((output) => <Card key={output.id} output={output} open={openCard} />)}
      </ul>
      <End />
    </section>
  );
}

/** A second picture for a comparison, or the large view. */
function openCard(output: Output): void {
  const { compare, setCompare } = useGallery.getState();
  if (compare === null || compare.id === output.id) return openOutput(output);
  setCompare(null);
  openCompare(compare, output);
}

function CompareHint(): ReactNode {
  const t = useTexts();
  const compare = useGallery((state) => state.compare);
  const setCompare = useGallery((state) => state.setCompare);
  if (compare === null) return null;
  return (
    <p className={styles["hint"]} role="status">
      {t("gallery.compare_hint")} <Button onClick={() => setCompare(null)}>{t("gallery.cancel")}</Button>
    </p>
  );
}

/** What stands below the pictures: more to come, nothing yet, or why not. Seeing it loads more. */
function End(): ReactNode {
  const t = useTexts();
  const { state, next, problem, filter } = useGallery();
  const isEmpty = useGallery((one) => one.outputs.length === 0);
  const more = useCallback(() => void useGallery.getState().more(), []);
  const seen = useSeen(more, `${next}-${state}`);
  if (state === "failed") {
    return (
      <div className={styles["end"]} role="alert">
        <p>{problem}</p>
        <Button onClick={() => void (isEmpty ? useGallery.getState().refresh() : useGallery.getState().more())}>{t("gallery.again")}</Button>
      </div>
    );
  }
  if (state === "ready" && isEmpty) {
    const isFiltered = Object.values(filter).some((value) => value !== undefined && value !== "");
    return (
      <Empty icon="gallery" title={t(isFiltered ? "gallery.none_found" : "gallery.empty")}>
        <p>{t(isFiltered ? "gallery.none_found_more" : "gallery.empty_more")}</p>
        {isFiltered && <Button onClick={() => void useGallery.getState().setFilter({})}>{t("gallery.all")}</Button>}
      </Empty>
    );
  }
  return (
    <div ref={seen} className={styles["end"]} aria-busy={state === "loading"}>
      {(state === "loading" || state === "new") && <p>{t("gallery.loading")}</p>}
      {state === "ready" && next !== null && <Button onClick={more}>{t("gallery.more")}</Button>}
    </div>
  );
}

/** Call `then` when the element comes near what is seen, and again whenever `key` changes while it is there. */
function useSeen(then: () => void, key: string): React.RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver((entries) => { if (entries.some((one) => one.isIntersecting)) then(); }, { rootMargin: "600px" });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [then, key]);
  return element;
}

function useRefreshing(): void {
  useEffect(() => {
    const refresh = (): void => { if (!document.hidden) void useGallery.getState().refresh(); };
    refresh();
    const timer = setInterval(refresh, REFRESH_MS);
    const stop = onSocketEvents((events) => { if (events.some((one) => one.event === "end")) refresh(); });
    document.addEventListener("visibilitychange", refresh);
    return () => {
      clearInterval(timer);
      stop();
      document.removeEventListener("visibilitychange", refresh);
    };
  }, []);
}

/** Arrow keys go from picture to picture, also up and down by the columns that are shown. */
function moveFocus(event: React.KeyboardEvent<HTMLUListElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>("[data-picture]")];
  const at = buttons.findIndex((one) => one === document.activeElement);
  if (at < 0) return;
  const columns = Math.max(1, buttons.filter((one) => one.offsetTop === buttons[0]?.offsetTop).length);
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  buttons[Math.min(buttons.length - 1, Math.max(0, at + step))]?.focus();
}
