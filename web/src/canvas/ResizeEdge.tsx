import { type PointerEvent, type ReactNode, useContext } from "react";

import { resizeItem } from "../model/edit";
import { LEAST_WIDTH } from "../model/measure";
import { camera } from "../state/camera";
import { newId, useDocuments } from "../state/documents";
import { preferences } from "../state/preferences";
import { t } from "../texts";
import { whilePressed } from "../ui/drag";
import { type Box, snapped } from "./geometry";
import styles from "./node.module.css";
import { Place } from "./place";

interface Props {
  readonly id: string;
  readonly item: Box;
  /** A node has only a width; frames and notes both. */
  readonly edges: "width" | "both";
}

const LEAST = { width: 96, height: 48 };

/** The corner that makes an item wider or taller; one step of undo per pull. */
export function ResizeEdge({ id, item, edges }: Props): ReactNode {
  const { scope } = useContext(Place);
  const pull = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.stopPropagation();
    const gesture = newId();
    const zoom = camera()?.zoom() ?? 1;
    const whole = preferences().snap ? snapped : Math.round;
    const move = (moved: globalThis.PointerEvent): void => {
      const width = Math.max(edges === "width" ? LEAST_WIDTH : LEAST.width, whole(item.width + (moved.clientX - event.clientX) / zoom));
      const height = Math.max(LEAST.height, whole(item.height + (moved.clientY - event.clientY) / zoom));
      useDocuments.getState().apply("canvas.resized", resizeItem(scope, id, edges === "width" ? { width } : { width, height }), gesture);
    };
    whilePressed(move);
  };
  return <i className={`nodrag nopan ${styles["resize"]} ${styles[edges]}`} title={t("canvas.resize")} onPointerDown={pull} />;
}
