/** The large view: one output, zoomed and panned, with what it was made with; left and right go through the gallery. */

import { type ReactNode, useCallback, useState } from "react";

import { outputUrl } from "../api/client";
import type { Output } from "../api/results";
import { isField } from "../commands/focus";
import { openMaskPainter } from "../painter/MaskPainter";
import { askDelete, groupsOf } from "../panels/gallery/Card";
import { MenuButton } from "../panels/gallery/MenuButton";
import { star, takePicture } from "../panels/gallery/actions";
import { useGallery } from "../state/gallery";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, showDialog, useClose } from "../ui/dialogs";
import { download } from "../ui/download";
import { Icon } from "../ui/icons";
import { openCompare } from "./Compare";
import { Facts } from "./Facts";
import { Picture } from "./Picture";
import { Film } from "./Film";
import { useStage } from "./stage";
import { ZoomBar } from "./ZoomBar";
import styles from "./viewer.module.css";
import { FIT } from "./zoom";

export function openOutput(output: Output): void {
  showDialog(<OutputView first={output} />);
}

/** Any picture alone: a value that was looked at, an uploaded file. */
export function openPicture(url: string, name: string): void {
  showDialog(<PictureView url={url} name={name} />);
}

function PictureView({ url, name }: { readonly url: string; readonly name: string }): ReactNode {
  const t = useTexts();
  const stage = useStage();
  const close = useClose();
  return (
    <Dialog title={name} size="full">
      <div className={styles["viewer"]} onKeyDown={stage.keys}>
        <div className={styles["stage"]}>
          <div className={styles["bar"]}>
            <ZoomBar {...stage} />
            <span className={styles["gap"]} />
            <Button onClick={() => openMaskPainter({ url, name })}><Icon name="edit" /> {t("gallery.paint_mask")}</Button>
            <Button onClick={() => void takePicture(url, name).then((done) => { if (done) close(); })}><Icon name="image" /> {t("gallery.use_as_input")}</Button>
            <Button onClick={() => download(url, name)}><Icon name="download" /> {t("gallery.download")}</Button>
          </div>
          <Picture url={url} name={name} zoom={stage.zoom} onZoom={stage.setZoom} onSize={stage.setPicture} onFrame={stage.setFrame} takesFocus />
        </div>
      </div>
    </Dialog>
  );
}

function OutputView({ first }: { readonly first: Output }): ReactNode {
  const t = useTexts();
  const [id, setId] = useState(first.id);
  const outputs = useGallery((state) => state.outputs);
  const at = outputs.findIndex((one) => one.id === id);
  const output = outputs[at] ?? first;
  const stage = useStage();
  const { setZoom } = stage;
  const close = useClose();
  const go = useCallback((step: number): void => {
    const next = outputs[at + step];
    if (next === undefined) return;
    setId(next.id);
    setZoom(() => FIT);
    if (at + step > outputs.length - 5) void useGallery.getState().more();
  }, [outputs, at, setZoom]);
  const remove = (): void => askDelete(output, t, () => (outputs.length > 1 ? go(at + 1 < outputs.length ? 1 : -1) : close()));
  const keys = (event: React.KeyboardEvent): void => {
    if (isField(event.target)) return;
    if (event.key === "ArrowLeft" && !isFilm(event.target)) go(-1);
    else if (event.key === "ArrowRight" && !isFilm(event.target)) go(1);
    else if (event.key === "Delete") remove();
    else if (event.key.toLowerCase() === "s" && !event.ctrlKey && !event.metaKey) void star(output);
    else return stage.keys(event);
    event.preventDefault();
  };
  return (
    <Dialog title={output.prompt ?? output.file} size="full">
      <div className={styles["viewer"]} onKeyDown={keys}>
        <div className={styles["stage"]}>
          <div className={styles["bar"]}>
            <Button label={t("gallery.newer")} disabled={at <= 0} onClick={() => go(-1)}><Icon name="left" /></Button>
            <Button label={t("gallery.older")} disabled={at < 0 || at + 1 >= outputs.length} onClick={() => go(1)}><Icon name="right" /></Button>
            {output.kind === "image" && <ZoomBar {...stage} />}
            <span className={styles["gap"]} />
            <Button label={t(output.starred ? "gallery.unstar" : "gallery.star")} aria-pressed={output.starred} className={output.starred ? styles["starred"] ?? "" : ""} onClick={() => void star(output)}>
              <Icon name="star" />
            </Button>
            {output.kind === "image" && <CompareButton output={output} older={outputs[at + 1]} />}
            <MenuButton label={t("gallery.actions")} groups={() => groupsOf(output, t)} />
          </div>
          {output.kind === "image"
            ? <Picture key={output.id} url={outputUrl(output.id)} name={output.prompt ?? output.file} zoom={stage.zoom} onZoom={stage.setZoom} onSize={stage.setPicture} onFrame={stage.setFrame} takesFocus />
            : <Film key={output.id} output={output} />}
        </div>
        <Facts output={output} />
      </div>
    </Dialog>
  );
}

/** Compare with the picture that was made before it; any other one is chosen in the gallery. */
function CompareButton({ output, older }: { readonly output: Output; readonly older: Output | undefined }): ReactNode {
  const t = useTexts();
  if (older?.kind !== "image") return null;
  return <Button onClick={() => openCompare(older, output)}>{t("gallery.compare_before")}</Button>;
}

function isFilm(target: EventTarget): boolean {
  return target instanceof HTMLMediaElement;
}
