import "@xyflow/react/dist/base.css";

import { type NodeChange, ReactFlow, type ReactFlowProps, ReactFlowProvider } from "@xyflow/react";
import { type HTMLAttributes, type MouseEvent, type PointerEvent, type ReactNode, useMemo, useRef, useState } from "react";

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
import { type View, around, viewOf } from "./geometry";
import { onCanvasKey, onCanvasKeyUp, spoilSpace } from "./keys";
import { LinkLine, Reason } from "./LinkLine";
import { chooseWires } from "./local";
import { Minimap } from "./Minimap";
import { dragBy, endDrag, startDrag } from "./moving";
import { NodeBox } from "./NodeBox";
import { NoteBox } from "./NoteBox";
import { goneSince, holdAt, isMore, itemAt, pressFar, pressGround, tapGround } from "./pointer";
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
  const isPanDrag = usePreferences((state) => state.drag === "pan");
  const isTouch = useTouch();
  const element = useRef<HTMLDivElement>(null);
  useWheel(element);
  return (
    <div ref={element} className={styles["surface"]} data-surface={isFar ? "far" : "near"} tabIndex={-1} {...listenersOf(live, isFar, isPanDrag, isTouch)}>
      <ReactFlow<FlowNode>
        nodes={nodes}
        edges={NO_EDGES}
        nodeTypes={NODE_TYPES}
        defaultViewport={first}
        width={size.width}
        height={size.height}
        minZoom={LEAST_ZOOM}
        maxZoom={MOST_ZOOM}
        {...DRAGGING}
        onNodesChange={onNodesChange}
        onNodeDoubleClick={(_, node) => enter(node)}
        onMove={(_, now) => onView(now)}
        onMoveEnd={(_, now) => look(now)}
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

/** What the canvas itself does with keys and the pointer. */
function listenersOf(live: Scene, isFar: boolean, isPanDrag: boolean, isTouch: boolean): HTMLAttributes<HTMLDivElement> {
  const far = isFar ? live : null;
  return {
    onKeyDown: onCanvasKey,
    onKeyUp: onCanvasKeyUp,
    onPointerDownCapture: (event) => {
      spoilSpace();
      if (event.isPrimary) holdAt(event);
    },
    ...(isPanDrag && { onMouseDownCapture: (event) => { if (isKept(event, far)) event.stopPropagation(); } }),
    onPointerDown: (event) => press(event, far, isPanDrag, isTouch),
    onClickCapture: keepChosen,
    onDoubleClick: (event) => addOrShow(event, live, isFar),
    onContextMenu: (event) => askMenu(event, live, isFar),
  };
}

/** Whether it is the ground of the canvas, beside everything that lies on it. */
function isGround(target: EventTarget): target is HTMLElement {
  return target instanceof HTMLElement && target.classList.contains("react-flow__pane");
}

/** `far`: what lies there when nodes are a picture. */
function press(event: PointerEvent<HTMLElement>, far: Scene | null, isPanDrag: boolean, isTouch: boolean): void {
  if (event.button !== 0 || !isGround(event.target) || isSpaceHeld(event.target, isPanDrag || isTouch)) return;
  event.currentTarget.focus({ preventScroll: true });
  if (event.pointerType === "touch" || (isPanDrag && !isKept(event, far))) tapGround(event, far);
  else if (far !== null) pressFar(event);
  else pressGround(event);
}

function addOrShow(event: MouseEvent, live: Scene, isFar: boolean): void {
  if (!isGround(event.target)) return;
  const at = useCamera.getState().camera?.toDocument({ x: event.clientX, y: event.clientY });
  const item = at === undefined || !isFar ? undefined : itemAt(live, at);
  if (item !== undefined) useCamera.getState().camera?.show(item.id);
  else openAddNode(at === undefined ? {} : { at });
}

/**
 * xyflow says when a press has become a drag, and when it moves; how far is counted from the press. Its own positions begin
 * where the drag does: all of a quick drag may lie before that.
 */
const DRAGGING: Partial<ReactFlowProps<FlowNode>> = {
  nodeDragThreshold: 3,
  onNodeDragStart: (event, node) => {
    startDrag(withSelection(node.id), event.altKey);
    dragBy(goneSince(event));
  },
  onNodeDrag: (event) => dragBy(goneSince(event)),
  onNodeDragStop: endDrag,
};

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
  for (const change of changes) {
    if (change.type !== "select") continue;
    isChosenChanged = true;
    if (change.selected) chosen.add(change.id);
    else chosen.delete(change.id);
  }
  if (!isChosenChanged) return;
  useDocuments.getState().select(chosen);
  chooseWires([]);
}

/** xyflow clears the selection with every click on the ground, also with the one that ends a marquee: that is ours. */
function keepChosen(event: MouseEvent): void {
  if (isGround(event.target)) event.stopPropagation();
}

/** An item, and what is dragged with it: all that is selected, mounted or not. */
function withSelection(id: string): Iterable<string> {
  const selection = activeDocument()?.selection;
  return selection?.has(id) === true ? [id, ...selection] : [id];
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
  if (event.button !== 0 || !isGround(event.target)) return false;
  const at = far === null ? undefined : useCamera.getState().camera?.toDocument({ x: event.clientX, y: event.clientY });
  return isMore(event) || (far !== null && at !== undefined && itemAt(far, at) !== undefined);
}

function askMenu(event: MouseEvent, scene: Scene, isFar: boolean): void {
  const target = event.target as HTMLElement; // a pointer is always on an element
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

