/** The canvas: the scope that is shown, as nodes and wires. */

import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";

import { withPlaces } from "../model/placing";
import { useCatalogue } from "../state/catalogue";
import { rememberedCamera } from "../state/cameras";
import { completeWith, useDocument, useDocuments, useScopeId } from "../state/documents";
import { openAddNode } from "../state/palette";
import { useLanguage, useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Breadcrumb } from "./Breadcrumb";
import styles from "./canvas.module.css";
import { keepScene } from "./linking";
import { useLocal } from "./local";
import { Place } from "./place";
import { type Scene, sceneOf, sceneWith } from "./scene";
import { Surface } from "./Surface";

completeWith((document) => withPlaces(document, useCatalogue.getState().catalogue));

const NOTHING_CHOSEN: ReadonlySet<string> = new Set();
const NO_PATH: readonly string[] = [];

export function Canvas(): ReactNode {
  const element = useRef<HTMLDivElement>(null);
  const size = useSize(element);
  const active = useDocuments((state) => state.active);
  const path = useDocuments((state) => state.open.find((one) => one.id === state.active)?.path ?? NO_PATH);
  const scope = useScopeId();
  const place = useMemo(() => ({ scope, path }), [scope, path]);
  const language = useLanguage((state) => state.language); // names of items are made with the scene
  const hasCatalogue = useCatalogue((state) => state.catalogue.types.size > 0);
  return (
    <div ref={element} className={styles["canvas"]}>
      <Place value={place}>
        <Breadcrumb />
        {size !== null && active !== "" && hasCatalogue && <Shown key={`${active}:${path.join("/")}:${language}`} size={size} path={path} />}
      </Place>
      <Said />
    </div>
  );
}

function Shown({ size, path }: { readonly size: { readonly width: number; readonly height: number }; readonly path: readonly string[] }): ReactNode {
  const selection = useDocuments((state) => state.open.find((one) => one.id === state.active)?.selection ?? NOTHING_CHOSEN);
  const [view] = useState(() => {
    const { open, active } = useDocuments.getState();
    return open.find((one) => one.id === active)?.viewports[path.join("/")] ?? rememberedCamera(active, path);
  });
  const { scene, live } = useScene();
  return (
    <>
      <Surface live={live} scene={scene} selection={selection} view={view} size={size} />
      {scene.items.size === 0 && <Empty />}
    </>
  );
}

/** The scene as the document says, and with dragged items where they are now. */
function useScene(): { readonly scene: Scene; readonly live: Scene } {
  const document = useDocument();
  const scope = useScopeId();
  const catalogue = useCatalogue((state) => state.catalogue);
  const moved = useLocal((state) => (state.isCopying ? null : state.moved));
  const last = useRef<Scene>(undefined);
  const lastLive = useRef<Scene>(undefined);
  const scene = useMemo(() => (last.current = sceneOf(document, scope, catalogue, last.current)), [document, scope, catalogue]);
  const live = useMemo(() => (lastLive.current = moved === null ? scene : sceneWith(scene, moved, lastLive.current ?? scene)), [scene, moved]);
  useLayoutEffect(() => keepScene(live), [live]);
  return { scene, live };
}

function useSize(element: React.RefObject<HTMLElement | null>): { readonly width: number; readonly height: number } | null {
  const [size, setSize] = useState<{ readonly width: number; readonly height: number } | null>(null);
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) return undefined;
    const read = (): void => setSize((before) => {
      const { clientWidth: width, clientHeight: height } = target;
      return before?.width === width && before.height === height ? before : { width, height };
    });
    read();
    const observer = new ResizeObserver(read);
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

function Empty(): ReactNode {
  const t = useTexts();
  return (
    <div className={styles["empty"]}>
      <h2>{t("canvas.emptyTitle")}</h2>
      <p>{t("canvas.emptyText")}</p>
      <Button kind="primary" onClick={() => openAddNode()}>{t("canvas.emptyAdd")}</Button>
    </div>
  );
}

/** What happens, for those who listen. */
function Said(): ReactNode {
  const said = useLocal((state) => state.said);
  return <div className={styles["said"]} aria-live="polite">{said}</div>;
}
