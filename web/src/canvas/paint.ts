/** Drawing a whole scene into one canvas: for the far view and the minimap. Paths are made once per scene. */

import { titleOf } from "./flow";
import { HEADER } from "../model/measure";
import { colourOf, type Palette } from "./colours";
import { type Box, type View, grown, meet, pathOf, seen } from "./geometry";
import type { NodeItem, Scene } from "./scene";

interface Paths {
  readonly bodies: Path2D;
  readonly headers: ReadonlyMap<string, Path2D>;
  readonly wires: ReadonlyMap<string, Path2D>;
  readonly frames: readonly { readonly colour: string; readonly path: Path2D }[];
  readonly notes: Path2D;
}

const made = new WeakMap<Scene, Paths>();
/** Titles are drawn from this zoom on; below it nobody can read them. */
const TITLES_FROM = 0.16;
/** How large titles are on the screen, if the node has room for them. */
const TITLE_PX = 11;
const FRAME_TITLE_PX = 13;
const MARK_PX = 3;
const TINT = 0.3;
const FAINT = 0.55;

export interface Painting {
  readonly scene: Scene;
  readonly selection: ReadonlySet<string>;
  /** Chosen wires, by the port they end at. */
  readonly wires: ReadonlySet<string>;
  /** As `useMarks` has them. */
  readonly marks?: string;
  readonly palette: Palette;
  readonly view: View;
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
  /** Items that are shown as themselves already. */
  readonly without?: ReadonlySet<string> | undefined;
}

export function paint(context: CanvasRenderingContext2D, painting: Painting): void {
  const { scene, palette, view, width, height, ratio } = painting;
  const paths = pathsOf(scene);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = palette.ground; // what was there before leaves thin lines where nothing covers it (seen in Chromium)
  context.fillRect(0, 0, width * ratio, height * ratio);
  context.setTransform(view.zoom * ratio, 0, 0, view.zoom * ratio, view.x * ratio, view.y * ratio);
  for (const { colour, path } of paths.frames) {
    context.fillStyle = palette.by[colour] ?? palette.quiet;
    context.globalAlpha = 0.14;
    context.fill(path);
  }
  context.globalAlpha = 1;
  // From afar the nodes are what one looks for: they are filled, and the wires between them faint.
  const isFarOff = view.zoom < TITLES_FROM;
  context.lineWidth = (isFarOff ? 1 : 1.5) / view.zoom;
  context.globalAlpha = isFarOff ? FAINT : 1;
  for (const [colour, path] of paths.wires) {
    context.strokeStyle = palette.by[colour] ?? palette.quiet;
    context.stroke(path);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.surface;
  context.strokeStyle = palette.line;
  context.lineWidth = 1 / view.zoom;
  context.fill(paths.bodies);
  if (isFarOff) {
    context.fillStyle = palette.line;
    context.globalAlpha = TINT;
    context.fill(paths.bodies);
    context.globalAlpha = 1;
  }
  context.stroke(paths.bodies);
  for (const [colour, path] of paths.headers) {
    context.fillStyle = palette.header;
    context.fill(path);
    if (colour === "") continue;
    context.globalAlpha = TINT; // a title is read on it
    context.fillStyle = palette.by[colour] ?? palette.header;
    context.fill(path);
    context.globalAlpha = 1;
  }
  context.fillStyle = palette.by["yellow"] ?? palette.header;
  context.globalAlpha = 0.35;
  context.fill(paths.notes);
  context.globalAlpha = 1;
  paintSelection(context, painting);
  paintMarks(context, painting);
  if (isFarOff) paintFrameTitles(context, painting);
  else paintTitles(context, painting);
}

/** Above each frame, in one size however far it is: what one finds one's way by. */
function paintFrameTitles(context: CanvasRenderingContext2D, { scene, palette, view }: Painting): void {
  const size = FRAME_TITLE_PX / view.zoom;
  context.textBaseline = "bottom";
  context.fillStyle = palette.text;
  context.font = `600 ${size}px system-ui, sans-serif`;
  for (const item of scene.items.values()) {
    if (item.kind === "frame") context.fillText(shortened(item.frame.title, item.width, size), item.x, item.y - size / 4);
  }
}

function paintSelection(context: CanvasRenderingContext2D, { scene, selection, wires, palette, view }: Painting): void {
  context.strokeStyle = palette.accent;
  context.lineWidth = 2.5 / view.zoom;
  for (const to of wires) {
    const wire = scene.wires.get(to);
    if (wire !== undefined) context.stroke(new Path2D(pathOf(wire.curves)));
  }
  for (const id of selection) {
    const item = scene.items.get(id);
    if (item !== undefined) context.strokeRect(item.x, item.y, item.width, item.height);
  }
}

/** Around each node that runs or has failed, with a sign at its corner: as large on the screen however far it is, if it has room. */
function paintMarks(context: CanvasRenderingContext2D, { scene, marks = "", palette, view }: Painting): void {
  if (marks === "") return;
  const px = 1 / view.zoom;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const mark of marks.split("\n")) {
    const [state, id = ""] = mark.split(" ", 2);
    const item = scene.items.get(id);
    if (item === undefined) continue;
    const colour = state === "failed" ? palette.by["red"] ?? palette.accent : palette.accent;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = MARK_PX * px;
    context.strokeRect(item.x, item.y, item.width, item.height);
    context.beginPath();
    const radius = Math.min(8 * px, item.width / 3);
    context.arc(item.x + item.width, item.y, radius, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = palette.surface;
    context.font = `700 ${1.4 * radius}px system-ui, sans-serif`;
    context.fillText(state === "failed" ? "!" : "▸", item.x + item.width, item.y + 0.06 * radius);
  }
  context.textAlign = "start";
}

function paintTitles(context: CanvasRenderingContext2D, { scene, palette, view, width, height, without }: Painting): void {
  const region = grown(seen(view, width, height), 0);
  context.textBaseline = "middle";
  context.fillStyle = palette.text;
  const wanted = Math.max(15, TITLE_PX / view.zoom);
  for (const item of scene.items.values()) {
    if (without?.has(item.id) === true || !meet(region, item)) continue;
    if (item.kind === "note") continue;
    const size = Math.min(wanted, item.height * 0.85);
    const isInHeader = size <= HEADER * 0.8 || item.kind === "frame";
    const y = isInHeader ? item.y + Math.max(HEADER, size) / 2 : item.y + (HEADER + Math.max(item.height, HEADER + size)) / 2;
    context.font = `600 ${size}px system-ui, sans-serif`;
    const title = item.kind === "node" ? titleOf(item) : item.frame.title;
    context.fillText(shortened(title, item.width - size, size), item.x + size / 2, Math.min(y, item.y + item.height - size / 2));
  }
}

function shortened(text: string, width: number, size: number): string {
  const most = Math.floor(width / (size * 0.58));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

export function pathsOf(scene: Scene): Paths {
  const before = made.get(scene);
  if (before !== undefined) return before;
  const bodies = new Path2D();
  const notes = new Path2D();
  const headers = new Map<string, Path2D>();
  const wires = new Map<string, Path2D>();
  const frames: { colour: string; path: Path2D }[] = [];
  for (const item of scene.items.values()) {
    if (item.kind === "note") notes.rect(item.x, item.y, item.width, item.height);
    else if (item.kind === "frame") frames.push({ colour: item.frame.color ?? "grey", path: rectangle(item) });
    else {
      bodies.rect(item.x, item.y, item.width, item.height);
      pathFor(headers, headerColour(item)).rect(item.x, item.y, item.width, Math.min(HEADER, item.height));
    }
  }
  for (const wire of scene.wires.values()) {
    const path = pathFor(wires, colourOf(wire.type));
    path.moveTo(wire.start.x, wire.start.y);
    for (const [, a, b, end] of wire.curves) path.bezierCurveTo(a.x, a.y, b.x, b.y, end.x, end.y);
  }
  const paths = { bodies, headers, wires, frames, notes };
  made.set(scene, paths);
  return paths;
}

function headerColour(item: NodeItem): string {
  if (item.type === undefined) return "red";
  return item.view.color ?? "";
}

function pathFor(paths: Map<string, Path2D>, key: string): Path2D {
  let path = paths.get(key);
  if (path === undefined) paths.set(key, (path = new Path2D()));
  return path;
}

function rectangle(box: Box): Path2D {
  const path = new Path2D();
  path.rect(box.x, box.y, box.width, box.height);
  return path;
}

