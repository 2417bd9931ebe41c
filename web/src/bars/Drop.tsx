/** Shows nothing in the bar: takes what is dropped anywhere on the page, and pictures and files that are pasted. */

import { type ReactNode, useEffect, useState } from "react";

import { FILE_TYPE, OUTPUT_TYPE, isWanted } from "../drop/decide";
import styles from "../drop/drop.module.css";
import { pasteHandlers } from "../state/clipboard";
import { type Point, camera } from "../state/camera";
import { middle } from "../state/pointer";
import { useTexts } from "../texts";
import { onceMore } from "../ui/later";
import type { Bar } from "./bar";

/** What takes them is loaded when there is something to take. */
const taking = onceMore(() => import("../drop/take"));

/** Pictures and files that are pasted; text is taken elsewhere. */
pasteHandlers.push(({ files, at }) => {
  if (files.length === 0) return false;
  void taking().then(({ takeFiles }) => takeFiles(files, at));
  return true;
});

const STILL_MS = 700;

function Drop(): ReactNode {
  const t = useTexts();
  const isOver = useDrops();
  return isOver ? <div className={styles["veil"]}><p>{t("gallery.drop_here")}</p></div> : null;
}

/** Whether something that can be dropped is over the page. */
function useDrops(): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = (event: DragEvent): void => {
      if (event.defaultPrevented || event.dataTransfer === null) return;
      if (!isWanted(event.dataTransfer.types, isField(event.target))) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      setOver(true);
      // A field that takes the files itself tells us nothing: what is over us tells so several times a second.
      clearTimeout(timer);
      timer = setTimeout(end, STILL_MS);
    };
    const leave = (event: DragEvent): void => { if (event.relatedTarget === null) setOver(false); };
    const end = (): void => {
      clearTimeout(timer);
      setOver(false);
    };
    const drop = (event: DragEvent): void => {
      end();
      if (event.defaultPrevented || event.dataTransfer === null) return;
      if (!isWanted(event.dataTransfer.types, isField(event.target))) return;
      event.preventDefault();
      take(event.dataTransfer, placeOf(event));
    };
    window.addEventListener("dragover", over);
    window.addEventListener("dragleave", leave);
    window.addEventListener("dragend", end);
    window.addEventListener("drop", drop);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("dragover", over);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("dragend", end);
      window.removeEventListener("drop", drop);
    };
  }, []);
  return isOver;
}

/** Where it was dropped, if that is the canvas; else the middle of it. */
function placeOf(event: DragEvent): Point {
  const isOnCanvas = event.target instanceof Element && event.target.closest("main") !== null;
  return (isOnCanvas ? camera()?.toDocument({ x: event.clientX, y: event.clientY }) : undefined) ?? middle();
}

function take(dropped: DataTransfer, at: Point): void {
  const output = dropped.getData(OUTPUT_TYPE);
  const file = dropped.getData(FILE_TYPE);
  const text = dropped.getData("text/plain");
  const files = [...dropped.files];
  void taking().then(({ addUpload, takeFiles, takeOutput, takeText }) => {
    if (output !== "") void takeOutput(output, at);
    else if (file !== "") addUpload(JSON.parse(file) as Parameters<typeof addUpload>[0], at); // the files panel wrote it
    else if (files.length > 0) void takeFiles(files, at);
    else if (text.trim() !== "") void takeText(text, "");
  });
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea"));
}

const bar: Bar = { place: "right", order: 910, Component: Drop };
export default bar;
