/** Lists and menus over the page. They are not needed at first: their code comes while the page is idle, or when one is asked for. */

import { type ReactNode, Suspense, useEffect, useState } from "react";

import { useMenu } from "./state/menu";
import { usePalette } from "./state/palette";
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
      {(isAsked || isPrepared) && <Suspense><Palettes /></Suspense>}
      {(isMenuAsked || isPrepared) && <Suspense><ContextMenu /></Suspense>}
    </>
  );
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
