import { type CSSProperties, type KeyboardEvent, type ReactNode, memo, useId } from "react";

import type { InputPort, OutputPort } from "../model/catalogue";
import { disconnect } from "../model/edit";
import { useDocuments } from "../state/documents";
import { usePortProblem } from "../state/plan";
import { t } from "../texts";
import { cssType } from "./colours";
import { linkInto, pressPort } from "./gestures";
import styles from "./node.module.css";
import { startKeyboardLink } from "./keyboard_link";
import { currentScene } from "./linking";
import { shapeOf } from "./scene";

interface Props {
  /** Run id of the node. */
  readonly path: string;
  readonly node: string;
  readonly port: InputPort | OutputPort;
  readonly side: "input" | "output";
  readonly link: string | null;
  /** "fits", "dim", "aim" or "refused" while a wire is drawn. */
  readonly mood: string;
  readonly tabIndex: number;
}

/**
 * A port: round takes one value, a leaf a mask, square a list, a rhombus any type; hollow may be left out. Its colour is its type's.
 * Press and draw, or Enter and arrows, to connect it; Delete takes a linked input's wire off.
 */
export const PortButton = memo(function PortButton({ path, node, port, side, link, mood, tabIndex }: Props): ReactNode {
  const isOptional = "optional" in port && (port.optional || port.default !== undefined);
  const shape = shapeOf(port);
  const problem = usePortProblem(path, port.name);
  const isWrong = problem !== undefined && side === "input";
  const id = useId();
  const look = ["port", side, shape, isWrong && "wrong", isOptional && link === null && "hollow", mood].filter((one): one is string => Boolean(one));
  const end = { node, port: port.name, side };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      startKeyboardLink(end);
    }
    if ((event.key === "Delete" || event.key === "Backspace") && linkInto(end) !== null) {
      event.stopPropagation();
      useDocuments.getState().apply("canvas.disconnected", disconnect(currentScene()?.scope ?? "", `${node}.${port.name}`));
    }
  };
  return (
    <>
    <button
      type="button"
      className={`nodrag nopan ${look.map((name) => styles[name]).join(" ")}`}
      style={{ "--c": cssType(port.type) } as CSSProperties} // custom properties are not in the type
      data-port={port.name}
      data-side={side}
      tabIndex={tabIndex}
      aria-label={nameOfPort(port, side, link, isOptional)}
      aria-describedby={isWrong ? id : undefined}
      title={[...(isWrong ? [problem.message] : []), `${port.name}: ${port.type}`, port.doc].filter(Boolean).join("\n")}
      onPointerDown={(event) => pressPort(event, end)}
      onKeyDown={onKeyDown}
    />
    {isWrong && <span id={id} hidden>{problem.message}</span>}
    </>
  );
});

function nameOfPort(port: InputPort | OutputPort, side: "input" | "output", link: string | null, isOptional: boolean): string {
  const { name, type } = port;
  if (side === "output") return t("nodes.output", { name, type });
  if (link !== null) return t("nodes.linkedInput", { name, type, link });
  return t(isOptional ? "nodes.optionalInput" : "nodes.input", { name, type });
}
