import { ViewportPortal, useStore } from "@xyflow/react";
import type { ReactNode } from "react";

import { useTexts } from "../texts";
import { cssType } from "./colours";
import { curvesOf, pathOf } from "./geometry";
import { type Linking, useLinking } from "./linking";
import { useLocal } from "./local";
import { type Scene, portPoint } from "./scene";
import styles from "./wires.module.css";

/** What is drawn over everything while something is drawn or dragged: the new wire, the marquee, ghosts of copies. */
export function LinkLine({ scene }: { readonly scene: Scene }): ReactNode {
  const linking = useLinking((state) => state.linking);
  const marquee = useLocal((state) => state.marquee);
  const ghosts = useLocal((state) => (state.isCopying ? state.moved : null));
  return (
    <ViewportPortal>
      <svg className={`${styles["draft"]} ${linking === null ? "" : moodOf(linking)}`} aria-hidden="true">
        {marquee !== null && <rect {...marquee} />}
        {[...(ghosts ?? [])].map(([id, at]) => {
          const item = scene.items.get(id);
          return item !== undefined && <rect key={id} x={at.x} y={at.y} width={item.width} height={item.height} rx={8} />;
        })}
        {linking !== null && <Draft linking={linking} scene={scene} />}
      </svg>
    </ViewportPortal>
  );
}

function moodOf(linking: Linking): string {
  if (linking.verdict === null) return "";
  return (linking.verdict.ok ? styles["ok"] : styles["bad"]) ?? "";
}

function Draft({ linking, scene }: { readonly linking: Linking; readonly scene: Scene }): ReactNode {
  const { from, aim, at } = linking;
  const item = scene.items.get(from.node);
  const start = portPoint(item, from.port, from.side);
  const end = (aim === null ? undefined : portPoint(scene.items.get(aim.node), aim.port, aim.side)) ?? at;
  if (start === undefined || item?.kind !== "node") return null;
  const ports = from.side === "input" ? item.ports.inputs : item.ports.outputs;
  const colour = cssType(ports.find((port) => port.name === from.port)?.type ?? "T");
  const curves = from.side === "output" ? curvesOf(start, end) : curvesOf(end, start);
  return (
    <>
      <path d={pathOf(curves)} style={{ stroke: colour }} />
      <circle cx={end.x} cy={end.y} r={5} style={{ stroke: colour }} />
    </>
  );
}

/** Beside the pointer: why the wire may not end here, or that the node will run once for each element. */
export function Reason(): ReactNode {
  const t = useTexts();
  const linking = useLinking((state) => state.linking);
  const [x, y, zoom] = useStore((state) => state.transform);
  const box = useStore((state) => state.domNode)?.getBoundingClientRect();
  if (linking?.verdict == null || box === undefined) return null;
  const { verdict, at } = linking;
  const isMap = verdict.ok && verdict.fit === "map";
  if (verdict.ok && !isMap) return null;
  const place = { left: Math.min(at.x * zoom + x + box.left + 18, box.right - 350), top: Math.min(at.y * zoom + y + box.top + 18, box.bottom - 90) };
  return (
    <div className={`${styles["reason"]} ${isMap ? styles["good"] : ""}`} style={place}>
      {verdict.ok ? t("canvas.oncePerElement") : verdict.reason}
      {!verdict.ok && verdict.converters.length > 0 && <em>{t("canvas.converterOffered")}</em>}
    </div>
  );
}
