/** A button that opens a menu below it, in front of dialogs too. */

import { type ReactNode, useCallback, useRef, useState } from "react";

import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import { Menu, type MenuGroups } from "../../ui/Menu";
import styles from "./gallery.module.css";

interface Props {
  readonly label: string;
  /** Made when it is opened. */
  readonly groups: () => MenuGroups;
  readonly className?: string;
}

export function MenuButton({ label, groups, className = "" }: Props): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const close = useCallback(() => setAt(null), []);
  const open = (): void => {
    const box = button.current?.getBoundingClientRect();
    setAt(box === undefined || at !== null ? null : { x: box.left, y: box.bottom + 4 });
  };
  return (
    <>
      <Button ref={button} kind="quiet" label={label} className={className} aria-haspopup="menu" aria-expanded={at !== null} onClick={open}>
        <Icon name="more" />
      </Button>
      {at !== null && (
        // A popover lies in front of everything, and is not cut off by the card that it belongs to.
        <div ref={(element) => element?.showPopover()} popover="manual" className={styles["layer"]}>
          <Menu label={label} groups={groups()} at={at} onClose={close} />
        </div>
      )}
    </>
  );
}
