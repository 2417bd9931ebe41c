import { type ReactNode, useState } from "react";

import { elementType } from "../model/measure";
import { useTexts } from "../texts";
import { Lean } from "./Lean";
import { readList, writeList } from "./numbers";
import { TextField } from "./TextWidget";
import { type WidgetProps, taken, useEditing } from "./widget";
import styles from "./widgets.module.css";

/** A list of texts (one per line) or of numbers (between commas). */
export function ListWidget(props: WidgetProps): ReactNode {
  const { port, value, onChange, label } = props;
  const t = useTexts();
  const editing = useEditing();
  const [isWrong, setWrong] = useState(false);
  if (editing.session === 0) return <Lean {...props} editing={editing} isTall />;
  const write = (typed: string): void => {
    const list = readList(elementType(port.type), typed);
    setWrong(list === undefined);
    if (list !== undefined) onChange(list, editing.session);
  };
  return (
    <span className={styles["field"]}>
      <TextField
        text={writeList(taken(port, value).value)} isTall label={label} isInvalid={isWrong} onText={write}
        onCancel={() => onChange(value, editing.session)} onEnd={editing.stop}
      />
      {isWrong && <span role="alert" className={styles["flaw"]}>{t("widgets.flawList", { label })}</span>}
    </span>
  );
}
