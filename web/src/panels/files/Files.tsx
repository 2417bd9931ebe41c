/** The uploaded files, newest first: what workflows name. Sent here by a button or by dropping them anywhere. */

import { type ReactNode, useEffect, useRef } from "react";

import { fileThumbnailUrl, fileUrl, uploadFile } from "../../api/client";
import type { Upload } from "../../api/results";
import { FILE_TYPE } from "../../drop/decide";
import { addUpload } from "../../drop/take";
import { openMaskPainter } from "../../painter/MaskPainter";
import { useFiles } from "../../state/files";
import { sizeText } from "../../state/format";
import { middle } from "../../state/pointer";
import { useLanguage, useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { Icon } from "../../ui/icons";
import type { MenuGroups } from "../../ui/Menu";
import { openPicture } from "../../viewer/Viewer";
import { moment } from "../../viewer/words";
import { confirmDelete } from "../gallery/ConfirmDelete";
import { MenuButton } from "../gallery/MenuButton";
import { trying } from "../gallery/actions";
import styles from "./files.module.css";
import { download } from "../../ui/download";

export function Files(): ReactNode {
  const t = useTexts();
  const { files, next, load, more } = useFiles();
  useEffect(() => void trying(load), [load]);
  const input = useRef<HTMLInputElement>(null);
  const send = async (chosen: readonly File[]): Promise<void> => {
    for (const file of chosen) await trying(async () => void (await uploadFile(file, file.name)));
    await trying(load);
  };
  return (
    <section>
      <div className={styles["head"]}>
        <Button onClick={() => input.current?.click()}><Icon name="upload" size={16} /> {t("gallery.upload")}</Button>
        <Button kind="quiet" label={t("gallery.refresh")} onClick={() => void trying(load)}><Icon name="refresh" size={16} /></Button>
        <input
          ref={input} type="file" multiple hidden
          onChange={(event) => {
            void send([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
      </div>
      {files?.length === 0 && <Empty icon="files" title={t("gallery.no_files")}><p>{t("gallery.no_files_more")}</p></Empty>}
      <ul className={styles["list"]}>
        {files?.map((file) => <Row key={file.sha256} file={file} />)}
      </ul>
      {next !== null && <div className={styles["head"]}><Button onClick={() => void trying(more)}>{t("gallery.more")}</Button></div>}
    </section>
  );
}

function Row({ file }: { readonly file: Upload }): ReactNode {
  const t = useTexts();
  const language = useLanguage((state) => state.language);
  return (
    <li
      className={styles["row"]} draggable
      onDragStart={(event) => event.dataTransfer.setData(FILE_TYPE, JSON.stringify({ name: file.name, sha256: file.sha256, kind: file.kind }))}
    >
      {file.kind === "image" ? (
        <button type="button" className={styles["picture"]} aria-label={t("gallery.open_large", { name: file.name })} onClick={() => openPicture(fileUrl(file.sha256), file.name)}>
          <img src={fileThumbnailUrl(file.sha256, 128)} alt="" loading="lazy" decoding="async" draggable={false} />
        </button>
      ) : (
        <span className={styles["picture"]}><Icon name="files" /></span>
      )}
      <div className={styles["facts"]}>
        <span title={file.name}>{file.name || file.sha256.slice(0, 12)}</span>
        <small>{sizeText(file.size)} · {moment(file.created, language, "short")}</small>
      </div>
      <MenuButton label={t("gallery.actions_of", { name: file.name })} groups={() => groupsOf(file, t)} />
    </li>
  );
}

function groupsOf(file: Upload, t: ReturnType<typeof useTexts>): MenuGroups {
  const isPicture = file.kind === "image";
  return [
    [
      ...(file.kind === "other" ? [] : [{ id: "add", title: t("gallery.use_as_input"), icon: "add" as const, run: () => addUpload(file, middle()) }]),
      ...(isPicture ? [{ id: "mask", title: t("gallery.paint_mask"), icon: "edit" as const, run: () => openMaskPainter({ url: fileUrl(file.sha256), name: file.name }) }] : []),
      { id: "download", title: t("gallery.download"), icon: "download", run: () => download(fileUrl(file.sha256), file.name) },
    ],
    [{ id: "delete", title: t("gallery.delete"), icon: "trash", run: () => askDelete(file, t) }],
  ];
}

function askDelete(file: Upload, t: ReturnType<typeof useTexts>): void {
  confirmDelete({
    title: t("gallery.delete_file_title"),
    name: file.name,
    ...(file.kind === "image" ? { picture: fileThumbnailUrl(file.sha256, 128) } : {}),
    remove: () => useFiles.getState().remove(file.sha256),
  });
}
