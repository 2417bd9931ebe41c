import type { ReactNode } from "react";

import { t } from "../texts";
import styles from "./node.module.css";

/** The name of a port; dotted below if the workflow shows it to the outside, with an asterisk if it is needed and empty. */
export function Label({ name, named, isRight = false, isMissing = false }: { readonly name: string; readonly named?: string | undefined; readonly isRight?: boolean; readonly isMissing?: boolean }): ReactNode {
  const look = [styles["label"], isRight && styles["right"], named !== undefined && styles["named"], isMissing && styles["lacking"]];
  return (
    <span className={look.filter(Boolean).join(" ")} title={named === undefined ? undefined : t(isRight ? "nodes.namedOutput" : "nodes.namedInput", { name: named })}>
      {name}
    </span>
  );
}
