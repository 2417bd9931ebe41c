/** Paint a mask over a picture, and feed it to the workflow: what is white in it is where something is to happen. */

import { type ReactNode, useEffect, useRef, useState } from "react";

import { fetchBlob } from "../api/results";
import { type MaskTarget, keyOf } from "../model/masks";
import { trying } from "../panels/gallery/actions";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, showDialog, useClose } from "../ui/dialogs";
import { Icon } from "../ui/icons";
import { ZoomBar } from "../viewer/ZoomBar";
import { ZoomPane } from "../viewer/ZoomPane";
import { useStage } from "../viewer/stage";
import viewer from "../viewer/viewer.module.css";
import { scaleOf } from "../viewer/zoom";
import { drawAll, levels, readMask } from "./draw";
import styles from "./painter.module.css";
import { greyPng } from "./png";
import { placesForMask, sendMask } from "./send";
import { BLANK, type Painting, type Tool, did, isBlank, onGiven, redo, sized, undo, visible } from "./strokes";
import { usePainting } from "./usePainting";
import { downloadBlob } from "../ui/download";

export interface Paintable {
  readonly url: string;
  readonly name: string;
  /** Address of a mask that is there already: it is painted on. */
  readonly mask?: string;
}

/** The mask is drawn in one colour; others, for pictures in which it cannot be seen, are that one turned. */
const COLOURS = ["none", "hue-rotate(150deg)", "hue-rotate(250deg)"];

/** What was painted, by picture and by the mask that was there: closing the painter by mistake loses nothing. */
const kept = new Map<string, Painting>();

export function openMaskPainter(picture: Paintable): void {
  showDialog(<MaskPainter {...picture} />);
}

function MaskPainter({ url, name, mask: given }: Paintable): ReactNode {
  const close = useClose();
  const t = useTexts();
  const stage = useStage();
  const key = `${url} ${given ?? ""}`;
  const [painting, setPainting] = useState<Painting>(kept.get(key) ?? BLANK);
  const [isFresh] = useState(!kept.has(key));
  const [tool, setTool] = useState<Tool>("brush");
  const [radius, setRadius] = useState(0);
  const [isPanning, setPanning] = useState(false);
  const [isSending, setSending] = useState(false);
  const [colour, setColour] = useState(0);
  const [places] = useState(placesForMask);
  const [place, setPlace] = useState<MaskTarget>(places[0] ?? { kind: "node" });
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = stage.picture;
  const isReady = picture.width > 1;
  useEffect(() => void kept.set(key, painting), [key, painting]);
  useEffect(() => { if (radius === 0 && isReady) setRadius(sized(Math.max(picture.width, picture.height) / 20, 0)); }, [radius, isReady, picture]);

  const latest = useRef(painting);
  latest.current = painting;

  const change = (next: Painting): void => {
    setPainting(next);
    const context = canvas.current?.getContext("2d", { willReadFrequently: true });
    if (context) drawAll(context, visible(next));
  };
  useEffect(() => { if (isReady) change(painting); }, [isReady]); // the canvas got its size, which empties it
  useEffect(() => {
    if (given === undefined || !isFresh || !isReady) return;
    void trying(async () => {
      const mask = await readMask(await fetchBlob(given));
      change(onGiven(latest.current, mask));
    });
  }, [given, isFresh, isReady]);
  const brush = usePainting({ canvas, tool, radius, isOff: isPanning || !isReady, scale: scaleOf(stage.zoom, picture, stage.frame), onStroke: (used, dabs) => setPainting((now) => did(now, { kind: "stroke", tool: used, dabs })) });
  const resize = (steps: number): void => setRadius((now) => sized(now, steps));

  const keys = (event: React.KeyboardEvent): void => {
    if (event.key === " " && !(event.target instanceof HTMLButtonElement)) setPanning(true);
    else if (!act(event, { painting, change, setTool, resize })) return stage.keys(event);
    event.preventDefault();
  };
  const finish = async (then: (mask: Blob) => Promise<boolean> | boolean): Promise<void> => {
    const context = canvas.current?.getContext("2d", { willReadFrequently: true });
    if (!context) return;
    setSending(true);
    const done = await then(await greyPng(picture.width, picture.height, levels(context)));
    setSending(false);
    if (done) close();
  };
  const maskName = `${name.replace(/\.\w+$/, "").slice(0, 60)}-mask.png`;
  return (
    <Dialog title={t("gallery.paint_title", { name })} size="full">
      <div className={viewer["stage"]} style={{ height: "100%" }} onKeyDown={keys} onKeyUp={(event) => { if (event.key === " ") setPanning(false); }}>
        <div className={viewer["bar"]}>
          <Tools tool={tool} onTool={setTool} radius={radius} onRadius={setRadius} />
          <span className={styles["rule"]} />
          <Button onClick={() => change(did(painting, { kind: "invert" }))}>{t("gallery.invert")}</Button>
          <Button disabled={painting.deeds.length === 0} onClick={() => change(did(painting, { kind: "clear" }))}>{t("gallery.clear")}</Button>
          <Button label={t("gallery.undo")} disabled={painting.deeds.length === 0} onClick={() => change(undo(painting))}><Icon name="undo" /></Button>
          <Button label={t("gallery.redo")} disabled={painting.undone.length === 0} onClick={() => change(redo(painting))}><Icon name="redo" /></Button>
          <Button onClick={() => setColour((colour + 1) % COLOURS.length)}><span className={styles["swatch"]} style={{ filter: COLOURS[colour] }} /> {t("gallery.mask_colour")}</Button>
          <span className={styles["rule"]} />
          <ZoomBar {...stage} />
          <span className={viewer["gap"]} />
          <Button disabled={isSending} onClick={() => void finish((mask) => { downloadBlob(mask, maskName); return false; })}><Icon name="download" /> {t("gallery.download")}</Button>
          <Button kind="primary" disabled={isSending || isBlank(painting)} title={isBlank(painting) ? t("gallery.paint_first") : ""} onClick={() => void finish((mask) => sendMask(mask, maskName, place))}>
            {t("gallery.use_mask")}
          </Button>
          {places.length > 1 && <Places places={places} chosen={place} onChoose={setPlace} />}
        </div>
        <ZoomPane
          zoom={stage.zoom} onZoom={stage.setZoom} picture={picture} label={t("gallery.paint_title", { name })} onFrame={stage.setFrame}
          isDragTaken={!isPanning} className={(isPanning ? "" : styles["painting"]) ?? ""}
        >
          <img
            src={url} alt={name} draggable={false}
            onLoad={(event) => stage.setPicture({ width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight })}
          />
          <canvas ref={canvas} className={styles["mask"]} style={{ filter: COLOURS[colour] }} width={picture.width} height={picture.height} {...brush.listeners} />
          <div ref={brush.cursor} className={styles["cursor"]} aria-hidden="true" />
        </ZoomPane>
        <p className={styles["help"]}>{t("gallery.paint_help")}</p>
      </div>
    </Dialog>
  );
}

interface PlacesProps {
  readonly places: readonly MaskTarget[];
  readonly chosen: MaskTarget;
  readonly onChoose: (place: MaskTarget) => void;
}

/** Where the mask goes: said before it is sent. */
function Places({ places, chosen, onChoose }: PlacesProps): ReactNode {
  const t = useTexts();
  return (
    <select
      className={styles["places"]} aria-label={t("gallery.mask_place")} value={keyOf(chosen)}
      onChange={(event) => { const found = places.find((one) => keyOf(one) === event.target.value); if (found !== undefined) onChoose(found); }}
    >
      {places.map((one) => <option key={keyOf(one)} value={keyOf(one)}>{placeTitle(one, t)}</option>)}
    </select>
  );
}

function placeTitle(place: MaskTarget, t: ReturnType<typeof useTexts>): string {
  if (place.kind === "file") return t("gallery.mask_to_file", { node: place.node });
  return place.kind === "port" ? t("gallery.mask_to_port", { to: place.to }) : t("gallery.mask_to_node");
}

interface ToolsProps {
  readonly tool: Tool;
  readonly onTool: (tool: Tool) => void;
  readonly radius: number;
  readonly onRadius: (radius: number) => void;
}

function Tools({ tool, onTool, radius, onRadius }: ToolsProps): ReactNode {
  const t = useTexts();
  return (
    <>
      <Button aria-pressed={tool === "brush"} onClick={() => onTool("brush")}>{t("gallery.brush")}</Button>
      <Button aria-pressed={tool === "eraser"} onClick={() => onTool("eraser")}>{t("gallery.eraser")}</Button>
      <label className={styles["size"]}>
        {t("gallery.brush_size")}
        <input type="range" min={0} max={40} step={1} value={Math.round(Math.log(Math.max(0.5, radius) / 0.5) / Math.log(1.2))} onChange={(event) => onRadius(sized(0.5 * 1.2 ** Number(event.target.value), 0))} />
        <output>{Math.round(radius * 2)} px</output>
      </label>
    </>
  );
}

interface Means {
  readonly painting: Painting;
  readonly change: (painting: Painting) => void;
  readonly setTool: (tool: Tool) => void;
  readonly resize: (steps: number) => void;
}

/** What a key does; false for none of ours. */
function act(event: React.KeyboardEvent, { painting, change, setTool, resize }: Means): boolean {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    if (key === "z") change(event.shiftKey ? redo(painting) : undo(painting));
    else if (key === "y") change(redo(painting));
    else return false;
    return true;
  }
  if (key === "[") resize(-1);
  else if (key === "]") resize(1);
  else if (key === "b") setTool("brush");
  else if (key === "e") setTool("eraser");
  else if (key === "i") change(did(painting, { kind: "invert" }));
  else if (key === "delete") change(did(painting, { kind: "clear" }));
  else return false;
  return true;
}
