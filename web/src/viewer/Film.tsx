/** A video or a sound: played in place (the browser asks for ranges), in a loop if wanted, stepped frame by frame. */

import { type ReactNode, useEffect, useRef, useState } from "react";

import { outputUrl } from "../api/client";
import type { Output } from "../api/results";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Icon } from "../ui/icons";
import styles from "./viewer.module.css";

/** Frames per second where the settings do not say. */
const USUAL_RATE = 24;

interface Props {
  readonly output: Output;
  readonly framesPerSecond?: number;
}

export function Film({ output, framesPerSecond = USUAL_RATE }: Props): ReactNode {
  const t = useTexts();
  const video = useRef<HTMLVideoElement>(null);
  const [isLooped, setLooped] = useState(true);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => video.current?.focus(), []);
  if (output.kind === "audio") return <audio className={styles["sound"]} src={outputUrl(output.id)} controls loop={isLooped} preload="metadata" />;
  if (output.kind !== "video" || isBroken) return <p className={styles["broken"]}>{t("gallery.cannot_show", { name: output.file })}</p>;
  const step = (frames: number): void => {
    const film = video.current;
    if (film === null) return;
    film.pause();
    film.currentTime = stepped(film.currentTime, frames, framesPerSecond, film.duration);
  };
  return (
    <div className={styles["film"]}>
      <video
        ref={video}
        src={outputUrl(output.id)}
        controls
        loop={isLooped}
        playsInline
        preload="metadata"
        tabIndex={0}
        aria-label={output.prompt ?? output.file}
        onError={() => setBroken(true)}
        onKeyDown={(event) => {
          if (event.key !== "," && event.key !== ".") return;
          step(event.key === "," ? -1 : 1);
        }}
      />
      <div className={styles["film_bar"]}>
        <Button label={t("gallery.frame_before")} onClick={() => step(-1)}><Icon name="left" /></Button>
        <Button label={t("gallery.frame_after")} onClick={() => step(1)}><Icon name="right" /></Button>
        <Button aria-pressed={isLooped} onClick={() => setLooped(!isLooped)}><Icon name="refresh" /> {t("gallery.loop")}</Button>
      </div>
    </div>
  );
}

/** The middle of the frame that lies so many frames after the one at `time`. */
function stepped(time: number, frames: number, framesPerSecond: number, duration: number): number {
  const frame = Math.floor(time * framesPerSecond + 1e-6) + frames;
  const last = Number.isFinite(duration) ? Math.max(0, Math.ceil(duration * framesPerSecond) - 1) : Infinity;
  return (Math.min(last, Math.max(0, frame)) + 0.5) / framesPerSecond;
}
