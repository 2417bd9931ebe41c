import "@xyflow/react/dist/base.css";

import { type NodeChange, ReactFlow, ReactFlowProvider } from "@xyflow/react";
import { type MouseEvent, type PointerEvent, type ReactNode, useMemo, useRef, useState } from "react";

import { useCamera } from "../state/camera";
import { rememberCamera } from "../state/cameras";
import { activeDocument, useDocuments } from "../state/documents";
import { openContextMenu, portOf } from "../state/menu";
import { openAddNode } from "../state/palette";
import { usePreferences } from "../state/preferences";
import { useTexts } from "../texts";
import { useAdmitting } from "./admitting";
import { CameraHolder } from "./CameraHolder";
import styles from "./canvas.module.css";
import { FarLayer } from "./FarLayer";
import { type FlowNode, flowNodeOf } from "./flow";
import { FrameBox } from "./FrameBox";
import { GRID, type View, around, viewOf } from "./geometry";
import { onCanvasKey, onCanvasKeyUp, spoilSpace } from "./keys";
import { LinkLine, Reason } from "./LinkLine";
import { chooseWires } from "./local";
import { Minimap } from "./Minimap";
import { dragTo, endDrag, startDrag } from "./moving";
import { NodeBox } from "./NodeBox";
import { NoteBox } from "./NoteBox";
import { isMore, itemAt, pressFar, pressGround, tapGround } from "./pointer";
import { type Scene, wholeBox } from "./scene";
import { useTouch, useWheel } from "./useInput";
import { Wires } from "./Wires";

const LEAST_ZOOM = 0.05;
const MOST_ZOOM = 3;
const NODE_TYPES = { node: NodeBox, frame: FrameBox, note: NoteBox };
const MORE_KEYS = ["Shift", "Control", "Meta"];
const NO_EDGES: [] = [];
const PAN_BY_LEFT = [0, 1];
const PAN_BY_MIDDLE = [1];

interface Props {
  /** What is drawn: with dragged items where they are now. */
  readonly live: Scene;
  /** As the document says. */
  readonly scene: Scene;
  readonly selection: ReadonlySet<string>;
  readonly view: View | undefined;
  readonly size: { readonly width: number; readonly height: number };
}

export function Surface(props: Props): ReactNode {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

function Inner({ live, scene, selection, view, size }: Props): ReactNode {
  const t = useTexts();
  const [first] = useState<View>(() => view ?? firstView(scene, size));
  const { isFar, admitted, isShort, onView } = useAdmitting(live, first, size);
  const nodes = useNodes(live, selection, isFar, admitted);
  const hasMinimap = usePreferences((state) => state.minimap);
  const snap = usePreferences((state) => state.snap);
  const isPanDrag = usePreferences((state) => state.drag === "pan");
  const isTouch = useTouch();
  const element = useRef<HTMLDivElement>(null);
  useWheel(element);
  const press = (event: PointerEvent): void => {
    const target = event.target as HTMLElement; // a pointer is always on an element
    if (event.button !== 0 || !target.classList.contains("react-flow__pane") || isSpaceHeld(target, isPanDrag || isTouch)) return;
    element.current?.focus({ preventScroll: true });
    if (event.pointerType === "touch" || (isPanDrag && !isKept(event, isFar ? live : null))) return tapGround(event, isFar ? live : null);
    if (isFar) pressFar(event);
    else pressGround(event);
  };
  const keep = (event: MouseEvent): void => {
    if (isKept(event, isFar ? live : null)) event.stopPropagation();
  };
  const onDouble = (event: MouseEvent): void => {
    if (!(event.target as HTMLElement).classList.contains("react-flow__pane")) return;
    const at = useCamera.getState().camera?.toDocument({ x: event.clientX, y: event.clientY });
    const item = at === undefined || !isFar ? undefined : itemAt(live, at);
    if (item !== undefined) useCamera.getState().camera?.show(item.id);
    else openAddNode(at === undefined ? {} : { at });
  };
  return (
    <div ref={element} className={styles["surface"]} data-surface={isFar ? "far" : "near"} tabIndex={-1} onKeyDown={onCanvasKey} onKeyUp={onCanvasKeyUp} onPointerDownCapture={spoilSpace} onMouseDownCapture={isPanDrag ? keep : undefined} onPointerDown={press} onClickCapture={keepChosen} onDoubleClick={onDouble} onContextMenu={(event) => askMenu(event, live, isFar)}>
      <ReactFlow<FlowNode>
        nodes={nodes}
        edges={NO_EDGES}
        nodeTypes={NODE_TYPES}
        defaultViewport={first}
        width={size.width}
        height={size.height}
        minZoom={LEAST_ZOOM}
        maxZoom={MOST_ZOOM}
        onNodesChange={onNodesChange}
        onNodeDragStart={(event, node) => startDrag(withSelection(node.id), event.altKey)}
        onNodeDragStop={endDrag}
        onNodeDoubleClick={(_, node) => enter(node)}
        onMove={(_, now) => onView(now)}
        onMoveEnd={(_, now) => look(now)}
        snapToGrid={snap}
        snapGrid={[GRID, GRID]}
        nodeDragThreshold={3}
        panOnDrag={isTouch ? true : isPanDrag ? PAN_BY_LEFT : PAN_BY_MIDDLE}
        panActivationKeyCode="Space"
        selectionKeyCode={null}
        deleteKeyCode={null}
        multiSelectionKeyCode={MORE_KEYS}
        zoomOnDoubleClick={false}
        nodesConnectable={false}
        disableKeyboardA11y
        autoPanOnNodeFocus={false}
        elevateNodesOnSelect
        proOptions={{ hideAttribution: true }}
        aria-label={t("canvas.named")}
      >
        <CameraHolder scene={live} size={size} />
        {(isFar || isShort) && <FarLayer scene={live} selection={selection} />}
        {!isFar && <Wires scene={live} />}
        <LinkLine scene={live} />
        <Reason />
        {hasMinimap && <Minimap scene={scene} />}
      </ReactFlow>
    </div>
  );
}

function useNodes(scene: Scene, selection: ReadonlySet<string>, isFar: boolean, admitted: ReadonlySet<string> | null): FlowNode[] {
  return useMemo(() => {
    if (isFar) return [];
    const items = [...scene.items.values()];
    return (admitted === null ? items : items.filter((item) => admitted.has(item.id))).map((item) => flowNodeOf(item, selection.has(item.id)));
  }, [scene, selection, isFar, admitted]);
}

function firstView(scene: Scene, { width, height }: Props["size"]): View {
  const box = around([...scene.items.values()].map(wholeBox));
  return box === null ? { x: width / 2, y: height / 3, zoom: 1 } : viewOf(box, width, height, LEAST_ZOOM, 1);
}

function look(now: View): void {
  const { look: keep, active } = useDocuments.getState();
  keep(now);
  rememberCamera(active, activeDocument()?.path ?? [], now);
}

function onNodesChange(changes: NodeChange<FlowNode>[]): void {
  const chosen = new Set(activeDocument()?.selection);
  let isChosenChanged = false;
  const places = new Map<string, { x: number; y: number }>();
  for (const change of changes) {
    if (change.type === "select") {
      isChosenChanged = true;
      if (change.selected) chosen.add(change.id);
      else chosen.delete(change.id);
    } else if (change.type === "position" && change.position !== undefined && change.dragging === true) places.set(change.id, change.position);
  }
  if (isChosenChanged) {
    useDocuments.getState().select(chosen);
    chooseWires([]);
  }
  if (places.size > 0) dragTo(places);
}

/** xyflow clears the selection with every click on the ground, also with the one that ends a marquee: that is ours. */
function keepChosen(event: MouseEvent): void {
  if ((event.target as HTMLElement).classList.contains("react-flow__pane")) event.stopPropagation();
}

/** What is dragged with an item: all that is selected, mounted or not. */
function withSelection(id: string): Iterable<string> {
  const selection = activeDocument()?.selection;
  return selection?.has(id) === true ? selection : [id];
}

function enter(node: FlowNode): void {
  const one = activeDocument();
  const { item } = node.data;
  if (one === undefined || item.kind !== "node" || !item.node.type.startsWith("#") || item.type === undefined) return;
  useDocuments.getState().enter([...one.path, item.id]);
}

/** Whether a press pans because Space is held. */
function isSpaceHeld(pane: HTMLElement, isPannedAnyway: boolean): boolean {
  return !isPannedAnyway && pane.classList.contains("draggable");
}

/** Whether a press on the ground never pans, and xyflow must not hear of it: a marquee is drawn, or from afar an item dragged. */
function isKept(event: MouseEvent, far: Scene | null): boolean {
  if (event.button !== 0 || !(event.target as HTMLElement).classList.contains("react-flow__pane")) return false;
  const at = far === null ? undefined : useCamera.getState().camera?.toDocument({ x: event.clientX, y: event.clientY });
  return isMore(event) || (far !== null && at !== undefined && itemAt(far, at) !== undefined);
}

function askMenu(event: MouseEvent, scene: Scene, isFar: boolean): void {
  const target = event.target as HTMLElement; // as above
  if (target.closest("input, textarea, select") !== null) return; // the browser's own, to paste into a field
  event.preventDefault();
  const at = { x: event.clientX, y: event.clientY };
  const port = portOf(target);
  if (port !== null) return openContextMenu({ at, target: port });
  const place = useCamera.getState().camera?.toDocument(at);
  const id = target.closest<HTMLElement>(".react-flow__node")?.dataset["id"] ?? (isFar && place !== undefined ? itemAt(scene, place)?.id : undefined);
  const item = id === undefined ? undefined : scene.items.get(id);
  openContextMenu({ at, target: item === undefined ? { kind: "canvas", ...(place && { at: place }) } : { kind: item.kind, id: item.id } });
}

