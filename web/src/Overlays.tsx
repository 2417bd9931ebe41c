/** Lists and menus over the page. They are not needed at first: their code comes while the page is idle, or when one is asked for. */

import { type ReactNode, Suspense, useEffect, useState } from "react";

import { useMenu } from "./state/menu";
import { usePalette } from "./state/palette";
import { lazily, prepareAll } from "./ui/lazily";

const Palettes = lazily(async () => (await import("./palette/Palettes")).Palettes);
const ContextMenu = lazily(async () => (await import("./menus/ContextMenu")).ContextMenu);

export function Overlays(): ReactNode {
  const isAsked = usePalette((state) => state.shown !== null);
  const isMenuAsked = useMenu((state) => state.open !== null);
  const isPrepared = usePrepared();
  return (
    <>
      {(isAsked || isPrepared) && <Suspense><Palettes /></Suspense>}
      {(isMenuAsked || isPrepared) && <Suspense><ContextMenu /></Suspense>}
    </>
  );
}

/** Whether everything that comes later has come. */
function usePrepared(): boolean {
  const [isPrepared, setPrepared] = useState(false);
  useEffect(() => whenIdle(() => void prepareAll().then(() => setPrepared(true))), []);
  return isPrepared;
}

/** Call back once nothing else is to be done; the function that calls it off. */
function whenIdle(then: () => void): () => void {
  if (typeof requestIdleCallback === "undefined") {
    const timer = setTimeout(then, 200); // Safari has none
    return () => clearTimeout(timer);
  }
  const id = requestIdleCallback(then, { timeout: 3000 });
  return () => cancelIdleCallback(id);
}
