/** Drawing a whole scene into one canvas: for the far view and the minimap. Paths are made once per scene. */

import { titleOf } from "./flow";
import { colourOf, type Palette } from "./colours";
import { type Box, type View, grown, meet, seen } from "./geometry";
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
const TITLES_FROM = 0.2;

export interface Painting {
  readonly scene: Scene;
  readonly selection: ReadonlySet<string>;
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
  context.clearRect(0, 0, width * ratio, height * ratio);
  context.setTransform(view.zoom * ratio, 0, 0, view.zoom * ratio, view.x * ratio, view.y * ratio);
  for (const { colour, path } of paths.frames) {
    context.fillStyle = palette.by[colour] ?? palette.quiet;
    context.globalAlpha = 0.14;
    context.fill(path);
  }
  context.globalAlpha = 1;
  context.lineWidth = 1.5 / view.zoom;
  for (const [colour, path] of paths.wires) {
    context.strokeStyle = palette.by[colour] ?? palette.quiet;
    context.stroke(path);
  }
  context.fillStyle = palette.surface;
  context.strokeStyle = palette.line;
  context.lineWidth = 1 / view.zoom;
  context.fill(paths.bodies);
  context.stroke(paths.bodies);
  for (const [colour, path] of paths.headers) {
    context.fillStyle = colour === "" ? palette.header : (palette.by[colour] ?? palette.header);
    context.fill(path);
  }
  context.fillStyle = palette.by["yellow"] ?? palette.header;
  context.globalAlpha = 0.35;
  context.fill(paths.notes);
  context.globalAlpha = 1;
  paintSelection(context, painting);
  if (view.zoom >= TITLES_FROM) paintTitles(context, painting);
}

function paintSelection(context: CanvasRenderingContext2D, { scene, selection, palette, view }: Painting): void {
  if (selection.size === 0) return;
  context.strokeStyle = palette.accent;
  context.lineWidth = 2.5 / view.zoom;
  for (const id of selection) {
    const item = scene.items.get(id);
    if (item !== undefined) context.strokeRect(item.x, item.y, item.width, item.height);
  }
}

function paintTitles(context: CanvasRenderingContext2D, { scene, palette, view, width, height, without }: Painting): void {
  const region = grown(seen(view, width, height), 0);
  context.font = "600 20px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = palette.text;
  for (const item of scene.items.values()) {
    if (without?.has(item.id) === true || !meet(region, item)) continue;
    if (item.kind === "node") context.fillText(shortened(titleOf(item), item.width), item.x + 10, item.y + 17);
    if (item.kind === "frame") context.fillText(shortened(item.frame.title, item.width), item.x + 10, item.y + 16);
  }
}

function shortened(text: string, width: number): string {
  const most = Math.floor((width - 16) / 11);
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
      pathFor(headers, headerColour(item)).rect(item.x, item.y, item.width, Math.min(32, item.height));
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

