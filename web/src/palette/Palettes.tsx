/** Where the lists one types into appear; once in the page. The focus comes back to where it was. */

import { type ReactNode, useEffect, useRef } from "react";

import { closePalette, usePalette } from "../state/palette";
import { useTexts } from "../texts";
import { AddNode } from "./AddNode";
import { CommandList } from "./CommandList";
import styles from "./Palettes.module.css";

export function Palettes(): ReactNode {
  const shown = usePalette((state) => state.shown);
  if (shown === null) return null;
  return (
    <Sheet key={shown.list} isWide={shown.list === "nodes"}>
      {shown.list === "nodes" ? <AddNode request={shown.request} /> : <CommandList />}
    </Sheet>
  );
}

function Sheet({ isWide, children }: { readonly isWide: boolean; readonly children: ReactNode }): ReactNode {
  const t = useTexts();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    element.current?.querySelector("input")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={element} className={`${styles["sheet"]} ${isWide ? styles["wide"] : ""}`} aria-label={t(isWide ? "palette.add_node" : "palette.commands")}
      onCancel={(event) => {
        event.preventDefault();
        closePalette();
      }}
      onPointerDown={(event) => { if (event.target === event.currentTarget) closePalette(); }}
    >
      <div className={styles["content"]}>{children}</div>
    </dialog>
  );
}
