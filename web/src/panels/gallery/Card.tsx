/** One output in the grid: its thumbnail, its star, and a menu of what can be done with it. */

import { type MouseEvent, type ReactNode, memo, useEffect, useRef, useState } from "react";

import { outputThumbnailUrl, outputUrl } from "../../api/client";
import type { Output } from "../../api/results";
import { OUTPUT_TYPE } from "../../drop/decide";
import { openMaskPainter } from "../../painter/MaskPainter";
import { useGallery } from "../../state/gallery";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import type { MenuGroups } from "../../ui/Menu";
import { confirmDelete } from "./ConfirmDelete";
import { copySeed, downloadOutput, openItsWorkflow, star, takeAsInput } from "./actions";
import styles from "./gallery.module.css";
import { MenuButton } from "./MenuButton";

interface Props {
  readonly output: Output;
  readonly open: (output: Output) => void;
}

export const Card = memo(function Card({ output, open }: Props): ReactNode {
  const t = useTexts();
  const isCompared = useGallery((state) => state.compare?.id === output.id);
  const name = output.prompt ?? output.file;
  return (
    <li
      className={`${styles["card"]} ${isCompared ? styles["compared"] : ""}`} draggable
      onDragStart={(event) => event.dataTransfer.setData(OUTPUT_TYPE, output.id)}
      onContextMenu={openMenu}
    >
      <button type="button" className={styles["picture"]} data-picture title={name} aria-label={t("gallery.open_large", { name })} onClick={() => open(output)}>
        <Thumbnail output={output} />
      </button>
      {output.kind === "video" && <span className={styles["badge"]}>{t("gallery.video")}</span>}
      <Button
        kind="quiet"
        className={`${styles["star"]} ${output.starred ? styles["starred"] : ""}`}
        label={t(output.starred ? "gallery.unstar" : "gallery.star")}
        aria-pressed={output.starred}
        onClick={() => void star(output)}
      >
        <Icon name="star" size={16} />
      </Button>
      <MenuButton label={t("gallery.actions")} className={styles["more"] ?? ""} groups={() => groupsOf(output, t, open)} />
    </li>
  );
});

/** The menu of its button. With Shift held it is the browser's own. */
function openMenu(event: MouseEvent<HTMLElement>): void {
  const button = event.currentTarget.querySelector<HTMLElement>("[aria-haspopup=menu]");
  if (event.shiftKey || button === null || (event.target as HTMLElement).closest("[role=menu]") !== null) return;
  event.preventDefault();
  button.click();
}

function Thumbnail({ output }: { readonly output: Output }): ReactNode {
  const [isMissing, setMissing] = useState(false);
  if (output.kind === "video" && !isMissing) return <Still output={output} onError={() => setMissing(true)} />;
  if (isMissing || output.kind !== "image") {
    return <span className={styles["no_thumbnail"]}><Icon name="files" size={24} /><small>{output.prompt ?? output.file}</small></span>;
  }
  return (
    <img
      src={outputThumbnailUrl(output.id)}
      alt=""
      loading="lazy"
      decoding="async"
      draggable={false}
      onError={() => setMissing(true)}
    />
  );
}

/** The first frame of a film, asked for when it comes near what is seen; it plays under the pointer. */
function Still({ output, onError }: { readonly output: Output; readonly onError: () => void }): ReactNode {
  const film = useRef<HTMLVideoElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (film.current === null) return;
    const observer = new IntersectionObserver((entries) => { if (entries.some((one) => one.isIntersecting)) setNear(true); }, { rootMargin: "200px" });
    observer.observe(film.current);
    return () => observer.disconnect();
  }, []);
  return (
    <video
      ref={film} {...(isNear ? { src: outputUrl(output.id) } : {})} muted loop playsInline preload="metadata" tabIndex={-1} aria-hidden="true" onError={onError}
      onPointerEnter={(event) => { if (!matchMedia("(prefers-reduced-motion: reduce)").matches) event.currentTarget.play().catch(() => undefined); }}
      onPointerLeave={(event) => event.currentTarget.pause()}
    />
  );
}

type Texts = ReturnType<typeof useTexts>;

/** What can be done with an output. `open`: show it large, where it is not. */
export function groupsOf(output: Output, t: Texts, open?: (output: Output) => void): MenuGroups {
  const isPicture = output.kind === "image";
  const large = open === undefined ? [] : [{ id: "large", title: t("gallery.large"), icon: "eye" as const, run: () => open(output) }];
  const picture = [
    { id: "mask", title: t("gallery.paint_mask"), icon: "edit" as const, run: () => openMaskPainter({ url: outputUrl(output.id), name: output.file }) },
    ...(open === undefined ? [] : [{ id: "compare", title: t("gallery.compare_with"), icon: "image" as const, run: () => useGallery.getState().setCompare(output) }]),
  ];
  return [
    [
      ...large,
      { id: "workflow", title: t("gallery.open_workflow"), icon: "workflows", run: () => void openItsWorkflow(output) },
      { id: "input", title: t("gallery.use_as_input"), icon: "add", run: () => void takeAsInput(output) },
      ...(isPicture ? picture : []),
    ],
    [
      ...(output.seed === null ? [] : [{ id: "seed", title: t("gallery.copy_seed", { seed: output.seed }), icon: "copy" as const, run: () => void copySeed(output) }]),
      { id: "download", title: t("gallery.download"), icon: "download", run: () => downloadOutput(output, "all") },
      ...(isPicture ? [{ id: "bare", title: t("gallery.download_bare"), icon: "download" as const, run: () => downloadOutput(output, "none") }] : []),
    ],
    [{ id: "delete", title: t("gallery.delete"), icon: "trash", run: () => askDelete(output, t) }],
  ];
}

export function askDelete(output: Output, t: Texts, after?: () => void): void {
  confirmDelete({
    title: t("gallery.delete_title"),
    name: output.file,
    ...(output.kind === "image" ? { picture: outputThumbnailUrl(output.id) } : {}),
    remove: () => useGallery.getState().remove(output.id),
    ...(after === undefined ? {} : { after }),
  });
}
