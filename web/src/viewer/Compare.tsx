/** Two pictures: side by side with one zoom, one over the other with a slider, and how their runs differ. */

import { type ReactNode, useEffect, useState } from "react";

import { asDocument, outputUrl, outputWorkflow, sentence } from "../api/client";
import type { Output } from "../api/results";
import { type Difference, differences } from "../model/diff";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, showDialog } from "../ui/dialogs";
import { Differences } from "./Differences";
import { Picture } from "./Picture";
import { type Stage, useStage } from "./stage";
import { ZoomBar } from "./ZoomBar";
import { ZoomPane } from "./ZoomPane";
import { scaleOf } from "./zoom";
import styles from "./viewer.module.css";

export function openCompare(a: Output, b: Output): void {
  showDialog(<Compare a={a} b={b} />);
}

type Way = "beside" | "slider";

function Compare({ a, b }: { readonly a: Output; readonly b: Output }): ReactNode {
  const t = useTexts();
  const [way, setWay] = useState<Way>("beside");
  const [isSwapped, setSwapped] = useState(false);
  const stage = useStage();
  const [left, right] = isSwapped ? [b, a] : [a, b];
  return (
    <Dialog title={t("gallery.compare")} size="full">
      <div className={styles["viewer"]} onKeyDown={stage.keys}>
        <div className={styles["stage"]}>
          <div className={styles["bar"]}>
            <Button aria-pressed={way === "beside"} onClick={() => setWay("beside")}>{t("gallery.beside")}</Button>
            <Button aria-pressed={way === "slider"} onClick={() => setWay("slider")}>{t("gallery.slider")}</Button>
            <Button onClick={() => setSwapped(!isSwapped)}>{t("gallery.swap")}</Button>
            <ZoomBar {...stage} />
          </div>
          {way === "beside" ? (
            <div className={styles["pair"]}>
              {[left, right].map((one, index) => (
                <figure key={one.id}>
                  <Picture
                    url={outputUrl(one.id)} name={nameOf(one, index)} zoom={stage.zoom} onZoom={stage.setZoom} onFrame={stage.setFrame}
                    {...(index === 0 ? { onSize: stage.setPicture, takesFocus: true } : {})}
                  />
                  <figcaption>{nameOf(one, index)}</figcaption>
                </figure>
              ))}
            </div>
          ) : (
            <Slider left={left} right={right} stage={stage} />
          )}
        </div>
        <RunDifference a={left} b={right} />
      </div>
    </Dialog>
  );
}

function nameOf(output: Output, index: number): string {
  return `${index === 0 ? "A" : "B"} · ${output.seed === null ? output.file : `seed ${output.seed}`}`;
}

function Slider({ left, right, stage }: { readonly left: Output; readonly right: Output; readonly stage: Stage }): ReactNode {
  const t = useTexts();
  const [share, setShare] = useState(50);
  return (
    <div className={styles["slider"]}>
      <ZoomPane zoom={stage.zoom} onZoom={stage.setZoom} picture={stage.picture} label={t("gallery.compare")} onFrame={stage.setFrame}>
        <img
          src={outputUrl(right.id)} alt={nameOf(right, 1)} draggable={false}
          onLoad={(event) => stage.setPicture({ width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight })}
        />
        <img className={styles["over"]} style={{ clipPath: `inset(0 ${100 - share}% 0 0)` }} src={outputUrl(left.id)} alt={nameOf(left, 0)} draggable={false} />
        <Edge share={share} onShare={setShare} scale={scaleOf(stage.zoom, stage.picture, stage.frame)} />
      </ZoomPane>
      <label className={styles["share"]}>
        <span>{nameOf(left, 0)}</span>
        <input type="range" min={0} max={100} step={0.5} value={share} aria-label={t("gallery.slider")} onChange={(event) => setShare(Number(event.target.value))} />
        <span>{nameOf(right, 1)}</span>
      </label>
    </div>
  );
}

/** The line between the two, which can be dragged; as thin at every zoom. */
function Edge({ share, onShare, scale }: { readonly share: number; readonly onShare: (share: number) => void; readonly scale: number }): ReactNode {
  const move = (event: React.PointerEvent<HTMLElement>): void => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    event.stopPropagation();
    const box = event.currentTarget.parentElement?.getBoundingClientRect();
    if (box !== undefined) onShare(Math.min(100, Math.max(0, ((event.clientX - box.left) / box.width) * 100)));
  };
  return (
    <span
      className={styles["edge"]} style={{ left: `${share}%`, width: 24 / scale, marginLeft: -12 / scale }} aria-hidden="true"
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={move}
    >
      <i style={{ transform: `scaleX(${1 / scale})` }} />
    </span>
  );
}

/** What differs in the workflows that the two were made with. */
function RunDifference({ a, b }: { readonly a: Output; readonly b: Output }): ReactNode {
  const t = useTexts();
  const [found, setFound] = useState<readonly Difference[] | string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    differenceOf(a.id, b.id).then(
      (differing) => { if (isCurrent) setFound(differing); },
      (error: unknown) => { if (isCurrent) setFound(sentence(error)); },
    );
    return () => { isCurrent = false; };
  }, [a.id, b.id]);
  return (
    <aside className={styles["facts"]} aria-label={t("gallery.difference")}>
      <h3>{t("gallery.difference")}</h3>
      {typeof found === "string" ? <p role="alert">{found}</p> : <Differences a={a} b={b} found={found} />}
    </aside>
  );
}

/** The server has read both strictly, so they are documents. */
async function differenceOf(a: string, b: string): Promise<readonly Difference[]> {
  const [first, second] = await Promise.all([outputWorkflow(a), outputWorkflow(b)]);
  return differences(asDocument(first.workflow), asDocument(second.workflow));
}
