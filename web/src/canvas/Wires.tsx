import { ViewportPortal, useStore } from "@xyflow/react";
import { type PointerEvent, type ReactNode, memo, useMemo } from "react";

import { split } from "../model/document";
import { setWirePoints } from "../model/edit";
import { camera } from "../state/camera";
import { newId, useDocuments } from "../state/documents";
import { openContextMenu } from "../state/menu";
import { whilePressed } from "../ui/drag";
import { cssType } from "./colours";
import { followPointer } from "./gestures";
import { type Box, type Point, meet, nearest, pathOf, snapped } from "./geometry";
import { currentScene, useLinking } from "./linking";
import { chooseWires, useLocal } from "./local";
import type { Scene, WireItem } from "./scene";
import styles from "./wires.module.css";

/** Wires whose end is taken when the press is this near to it. */
const END_PX = 28;

/**
 * The wires of what is seen, as one picture. Their own layer and no edges of xyflow: those ask the whole store on every
 * move of the viewport, each of them. For screen readers the ports say what is linked.
 */
export function Wires({ scene }: { readonly scene: Scene }): ReactNode {
  const region = useRegion();
  const seen = useMemo(() => [...scene.wires.values()].filter((wire) => meet(wire.box, region)), [scene.wires, region]);
  const taken = useLinking((state) => state.linking?.taken ?? null);
  return (
    <ViewportPortal>
      <svg className={styles["wires"]} aria-hidden="true">
        {seen.map((wire) => wire.to !== taken && <WirePath key={wire.to} wire={wire} scope={scene.scope} />)}
      </svg>
    </ViewportPortal>
  );
}

/** What is seen and as much again around it, changing only when the view has moved on by a good part of the window. */
function useRegion(): Box {
  const key = useStore((state) => {
    const [x, y, zoom] = state.transform;
    const step = 2 ** Math.round(Math.log2(Math.max(200, state.width / 2) / zoom));
    const cell = (pixels: number): number => Math.floor(pixels / zoom / step);
    return [step, cell(-x) - 1, cell(-y) - 1, cell(state.width - x) + 2, cell(state.height - y) + 2].join(" ");
  });
  return useMemo(() => {
    const [step = 1, left = 0, top = 0, right = 0, bottom = 0] = key.split(" ").map(Number);
    return { x: left * step, y: top * step, width: (right - left) * step, height: (bottom - top) * step };
  }, [key]);
}

const WirePath = memo(function WirePath({ wire, scope }: { readonly wire: WireItem; readonly scope: string }): ReactNode {
  const isChosen = useLocal((state) => state.wires.has(wire.to));
  const isTarget = useLocal((state) => state.into === wire.to);
  const path = pathOf(wire.curves);
  const look = [styles["wire"], isChosen && styles["chosen"], isTarget && styles["target"], wire.isIdle && styles["idle"], (wire.fit === "map" || wire.type.startsWith("list[")) && styles["many"]];
  return (
    <g data-wire={wire.to} className={look.filter(Boolean).join(" ")}>
      <path d={path} className={styles["line"]} style={{ stroke: cssType(wire.type) }} />
      <path
        d={path}
        className={styles["hit"]}
        onPointerDown={(event) => press(event, wire)}
        onDoubleClick={(event) => addPoint(event, wire, scope)}
        onContextMenu={(event) => askMenu(event, wire)}
      />
      {wire.points.map((point, index) => (
        <g key={index}>
          <circle
            cx={point.x} cy={point.y} r={9} className={`nodrag ${styles["point"]}`} data-point={index}
            onPointerDown={(event) => dragPoint(event, wire, scope, index)}
            onDoubleClick={(event) => { event.stopPropagation(); removePoint(wire, scope, index); }}
          />
          <circle cx={point.x} cy={point.y} r={3} className={styles["dot"]} style={{ stroke: cssType(wire.type) }} />
        </g>
      ))}
    </g>
  );
});

function press(event: PointerEvent, wire: WireItem): void {
  if (event.button !== 0) return;
  event.stopPropagation();
  const at = placeOf(event);
  const reach = END_PX / (camera()?.zoom() ?? 1);
  const near = (end: Point): boolean => Math.hypot(end.x - at.x, end.y - at.y) < reach;
  if (near(wire.end)) followPointer(event.nativeEvent, { ...split(wire.from), side: "output" }, wire.to);
  else if (near(wire.start)) followPointer(event.nativeEvent, { ...split(wire.to), side: "input" }, wire.to);
  const isMore = event.shiftKey || event.ctrlKey || event.metaKey;
  if (!isMore) useDocuments.getState().select([]);
  chooseWires(isMore ? toggled(useLocal.getState().wires, wire.to) : [wire.to]);
}

function toggled(set: ReadonlySet<string>, member: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(member)) next.add(member);
  return next;
}

function askMenu(event: React.MouseEvent, wire: WireItem): void {
  event.preventDefault();
  event.stopPropagation();
  openContextMenu({ at: { x: event.clientX, y: event.clientY }, target: { kind: "wire", to: wire.to, at: placeOf(event) } });
}

function placeOf(event: { readonly clientX: number; readonly clientY: number }): Point {
  return camera()?.toDocument({ x: event.clientX, y: event.clientY }) ?? { x: 0, y: 0 };
}

type Pair = readonly [number, number];

function write(scope: string, to: string, points: readonly Pair[], gesture: string | null = null): void {
  useDocuments.getState().apply("canvas.rerouted", setWirePoints(scope, to, points), gesture);
}

function pairs(wire: WireItem): Pair[] {
  return wire.points.map(({ x, y }) => [x, y] as const);
}

function addPoint(event: React.MouseEvent, wire: WireItem, scope: string): void {
  event.stopPropagation();
  const at = placeOf(event);
  write(scope, wire.to, pairs(wire).toSpliced(Math.min(nearest(wire.curves, at).index, wire.points.length), 0, [snapped(at.x), snapped(at.y)]));
}

export function removePoint(wire: WireItem, scope: string, index: number): void {
  write(scope, wire.to, pairs(wire).toSpliced(index, 1));
}

function dragPoint(event: PointerEvent, wire: WireItem, scope: string, index: number): void {
  if (event.button !== 0) return;
  event.stopPropagation();
  event.currentTarget.closest<HTMLElement>("[data-surface]")?.focus({ preventScroll: true });
  chooseWires([wire.to]);
  useLocal.setState({ point: { to: wire.to, index } });
  const gesture = newId();
  const move = (moved: globalThis.PointerEvent): void => {
    const now = currentScene()?.wires.get(wire.to);
    if (now === undefined) return;
    const at = placeOf(moved);
    write(scope, wire.to, pairs(now).with(index, [snapped(at.x), snapped(at.y)]), gesture);
  };
  whilePressed(move);
}

