import { type DragEvent, type ReactNode, useState } from "react";

import { fileThumbnailUrl, sentence, uploadFile } from "../api/client";
import { isFile } from "../model/document";
import { useTexts } from "../texts";
import { say } from "../ui/toasts";
import { type WidgetProps, newSession, textOf } from "./widget";
import styles from "./widgets.module.css";

const ACCEPT: { readonly [kind: string]: string } = { image: "image/*", video: "video/*", curve: ".json,application/json" };

/** A file, by choosing or dropping one; it is sent to the server at once. A picture is shown small. */
export function FileWidget({ port, value, onChange, label, tabIndex = 0 }: WidgetProps): ReactNode {
  const t = useTexts();
  const [isOver, setOver] = useState(false);
  const [isSending, setSending] = useState(false);
  const kinds = port.hint?.hint === "file" ? port.hint.kinds : [];
  const isPicture = kinds.includes("image");
  const send = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    setSending(true);
    try {
      const { name, sha256 } = await uploadFile(file, file.name);
      onChange({ file: name, sha256 }, newSession());
    } catch (error) {
      say(sentence(error), { kind: "bad" });
    } finally {
      setSending(false);
    }
  };
  const drop = (event: DragEvent): void => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    setOver(false);
    void send(event.dataTransfer.files[0]);
  };
  const text = isSending ? t("widgets.sending") : value === undefined ? t("widgets.chooseFile") : textOf(port, value);
  return (
    <button
      type="button"
      data-widget={port.name}
      tabIndex={tabIndex}
      aria-label={`${label}: ${text}`}
      title={text}
      className={`nodrag ${styles["lean"]} ${isPicture ? styles["picture"] : ""} ${isOver ? styles["over"] : ""} ${value === undefined ? styles["needed"] : ""}`}
      onClick={() => chooseFile(kinds, (file) => void send(file))}
      onDragOver={(event) => {
        event.preventDefault();
        event.stopPropagation();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {isPicture && isFile(value) && <Thumbnail key={value.sha256} sha256={value.sha256} />}
      <span>{text}</span>
    </button>
  );
}

function Thumbnail({ sha256 }: { readonly sha256: string }): ReactNode {
  const t = useTexts();
  const [isMissing, setMissing] = useState(false);
  if (isMissing) return <span className={styles["missing"]}>{t("widgets.fileMissing")}</span>;
  return <img src={fileThumbnailUrl(sha256)} alt="" draggable={false} loading="lazy" onError={() => setMissing(true)} />;
}

function chooseFile(kinds: readonly string[], then: (file: File | undefined) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = kinds.map((kind) => ACCEPT[kind] ?? "").filter((one) => one !== "").join(",");
  input.addEventListener("change", () => then(input.files?.[0]));
  input.click();
}
