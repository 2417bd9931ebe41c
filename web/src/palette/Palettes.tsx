/** Where the lists one types into appear; once in the page. The focus comes back to where it was. */

import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";

import { emptyDocument } from "../model/document";
import { useCatalogue } from "../state/catalogue";
import { closePalette, usePalette } from "../state/palette";
import { useTexts } from "../texts";
import { AddNode } from "./AddNode";
import { CommandList } from "./CommandList";
import styles from "./Palettes.module.css";
import { addables } from "./types";

export function Palettes(): ReactNode {
  const shown = usePalette((state) => state.shown);
  useReady();
  if (shown === null) return null;
  return (
    <Sheet key={shown.list} isWide={shown.list === "nodes"}>
      {shown.list === "nodes" ? <AddNode request={shown.request} /> : <CommandList />}
    </Sheet>
  );
}

/** The node types are made ready to be searched while nothing else is to be done, so that the list opens at once the first time too. */
function useReady(): void {
  const catalogue = useCatalogue((state) => state.catalogue);
  useEffect(() => {
    if (typeof requestIdleCallback === "undefined") return undefined;
    const id = requestIdleCallback(() => void addables(emptyDocument(), "", catalogue));
    return () => cancelIdleCallback(id);
  }, [catalogue]);
}

function Sheet({ isWide, children }: { readonly isWide: boolean; readonly children: ReactNode }): ReactNode {
  const t = useTexts();
  const element = useRef<HTMLDialogElement>(null);
  // At once: the next key is for the field.
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    const field = element.current?.querySelector("input");
    field?.focus();
    if (usePalette.getState().isEntered) field?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
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
