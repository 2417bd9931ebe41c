/** Lists and menus over the page. They are not needed at first: their code comes while the page is idle, or when one is asked for. */

import { type ReactNode, Suspense, useEffect, useLayoutEffect, useState } from "react";

import { useMenu } from "./state/menu";
import { keepTyped, usePalette } from "./state/palette";
import { useSaving } from "./state/saving";
import { later, loadTheRest } from "./ui/later";

const Palettes = later(async () => ({ default: (await import("./palette/Palettes")).Palettes }));
const ContextMenu = later(async () => ({ default: (await import("./menus/ContextMenu")).ContextMenu }));

export function Overlays(): ReactNode {
  const isAsked = usePalette((state) => state.shown !== null);
  const isMenuAsked = useMenu((state) => state.open !== null);
  const isPrepared = usePrepared();
  return (
    <>
      {(isAsked || isPrepared) && <Suspense fallback={isAsked && <TypedAhead />}><Palettes /></Suspense>}
      {(isMenuAsked || isPrepared) && <Suspense><ContextMenu /></Suspense>}
    </>
  );
}

/** In place of the list that is on its way: what is typed meanwhile is for its field. */
function TypedAhead(): ReactNode {
  useLayoutEffect(() => keepTyped(), []); // before the next key
  return null;
}

/** Whether everything that comes later has come. */
function usePrepared(): boolean {
  const isRestored = useSaving((state) => state.isRestored);
  const [isPrepared, setPrepared] = useState(false);
  useEffect(() => {
    if (isRestored) void loadTheRest().then(() => setPrepared(true));
  }, [isRestored]);
  return isPrepared;
}
