/** What a place says while there is nothing in it: what it is for, and how to fill it. */

import type { ReactNode } from "react";

import styles from "./Empty.module.css";
import { Icon, type IconName } from "./icons";

interface Props {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
}

export function Empty({ icon, title, children }: Props): ReactNode {
  return (
    <div className={styles["empty"]}>
      <Icon name={icon} size={32} />
      <h3>{title}</h3>
      {children}
    </div>
  );
}
