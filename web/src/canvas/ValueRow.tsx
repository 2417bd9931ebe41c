import { type ReactNode, useContext } from "react";

import type { InputPort } from "../model/catalogue";
import type { Json } from "../model/document";
import { setInput } from "../model/edit";
import { valueOf } from "../model/ports";
import { useDocuments } from "../state/documents";
import { t } from "../texts";
import { Widget } from "../widgets/Widget";
import type { NodeItem } from "./flow";
import { Label } from "./Label";
import styles from "./node.module.css";
import { Place } from "./place";

interface Props {
  readonly item: NodeItem;
  readonly port: InputPort;
  readonly link: string | null;
  readonly tabIndex: number;
}

/** An input that is a value and a socket at once: its widget, or where its link comes from. */
export function ValueRow({ item, port, link, tabIndex }: Props): ReactNode {
  const { scope } = useContext(Place);
  const value = valueOf(item.node, port);
  const write = (next: Json | undefined, session: number): void => {
    const name = [port.name, ...port.was].find((one) => item.node.inputs[one] !== undefined) ?? port.name;
    useDocuments.getState().apply("canvas.valueSet", setInput(scope, item.id, name, next), `value:${item.id}.${port.name}:${session}`);
  };
  return (
    <>
      <Label name={port.name} named={item.named[`<${port.name}`]} />
      <div className={styles["value"]}>
        {link === null
          ? <Widget port={port} value={value} onChange={write} label={port.name} tabIndex={tabIndex} />
          : <span className={styles["linked"]} title={t("nodes.comesFrom", { link })}>← {link}</span>}
      </div>
    </>
  );
}
