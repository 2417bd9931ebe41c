import type { NodeProps } from "@xyflow/react";
import { type ReactNode, memo, useContext } from "react";

import { setFrame } from "../model/edit";
import { useDocuments } from "../state/documents";
import { coloured, cssColour } from "./colours";
import type { FlowNode } from "./flow";
import styles from "./node.module.css";
import { Place } from "./place";
import { ResizeEdge } from "./ResizeEdge";
import { TitleField } from "./TitleField";

/** A frame behind nodes. Its title drags it and all that lies in it; its ground lets the pointer through. */
export const FrameBox = memo(
  function FrameBox({ data, selected }: NodeProps<FlowNode>): ReactNode {
    const { scope } = useContext(Place);
    if (data.item.kind !== "frame") return null;
    const { frame } = data.item;
    return (
      <div className={`${styles["frame"]} ${selected ? styles["selected"] : ""}`} style={coloured(cssColour(frame.color) ?? "var(--c-grey)")}>
        <header className={styles["frameTitle"]} data-frame-title>
          <TitleField title={frame.title} onTitle={(title) => useDocuments.getState().apply("canvas.titled", setFrame(scope, frame.id, { title }))} />
        </header>
        <ResizeEdge id={data.item.id} item={data.item} edges="both" />
      </div>
    );
  },
  (before, after) => before.data === after.data && before.selected === after.selected,
);
