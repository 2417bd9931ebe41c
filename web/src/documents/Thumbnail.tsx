import { useEffect, useRef, useState } from "react";

import { readWorkflow } from "../api/client";
import type { WorkflowDocument } from "../model/document";
import { parsed } from "../state/workflows";
import styles from "./Templates.module.css";
import { draw } from "./thumbnail";

const WIDTH = 240;
const HEIGHT = 110;

/** By name and version: read once. */
const documents = new Map<string, Promise<WorkflowDocument>>();

function documentOf(name: string, etag: string): Promise<WorkflowDocument> {
  const key = `${name}:${etag}`;
  let found = documents.get(key);
  if (found === undefined) {
    found = readWorkflow(name).then((answer) => parsed(answer.value));
    found.catch(() => documents.delete(key));
    documents.set(key, found);
  }
  return found;
}

/** A saved workflow as a small schematic; nothing of it needs to be read by a screen reader. */
export function Thumbnail({ name, etag }: { readonly name: string; readonly etag: string }): React.ReactNode {
  const element = useRef<HTMLCanvasElement>(null);
  const [document, setDocument] = useState<WorkflowDocument | null>(null);
  useEffect(() => {
    let isGone = false;
    documentOf(name, etag).then((found) => { if (!isGone) setDocument(found); }, () => {});
    return () => { isGone = true; };
  }, [name, etag]);
  useEffect(() => {
    const canvas = element.current;
    if (canvas === null || document === null) return;
    const paint = (): void => paintOn(canvas, document);
    paint();
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", paint);
    const theme = new MutationObserver(paint);
    theme.observe(window.document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      dark.removeEventListener("change", paint);
      theme.disconnect();
    };
  }, [document]);
  return <canvas ref={element} className={styles["thumbnail"]} width={WIDTH * 2} height={HEIGHT * 2} aria-hidden="true" />;
}

function paintOn(canvas: HTMLCanvasElement, document: WorkflowDocument): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  // The style sheet says the colours; light-dark() is resolved in what is computed.
  const { color, backgroundColor, borderTopColor, outlineColor } = getComputedStyle(canvas);
  context.setTransform(2, 0, 0, 2, 0, 0);
  draw(context, document, { width: WIDTH, height: HEIGHT }, { node: backgroundColor, line: borderTopColor, head: outlineColor, wire: color });
}
