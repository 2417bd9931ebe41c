/**
 * A wire that is being drawn, by pointer or by keyboard: from which port, to where, and whether it may end there.
 *
 * The one place where wires come to be. What fits and why not is `model/connect.ts`.
 */

import { create } from "zustand";

import type { InputPort, OutputPort } from "../model/catalogue";
import { type Verdict, judge } from "../model/connect";
import { type WorkflowDocument, isLink, scopeOf, split } from "../model/document";
import { addNode, connect, disconnect, freshId } from "../model/edit";
import { measure } from "../model/measure";
import { roomFor } from "../model/places";
import { activeDocument, useDocuments } from "../state/documents";
import { type PortEnd, openAddNode } from "../state/palette";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { type Point, isIn } from "./geometry";
import { announce } from "./local";
import { type Item, type NodeItem, type Scene, portPoint, wholeBox } from "./scene";

export interface Linking {
  /** The end that stays. */
  readonly from: PortEnd;
  /** The wire whose end was taken off, by the port it ended at; null for a new one. */
  readonly taken: string | null;
  readonly by: "pointer" | "keyboard";
  readonly at: Point;
  /** The port it would end at, and whether it may. */
  readonly aim: PortEnd | null;
  readonly verdict: Verdict | null;
}

export const useLinking = create<{ readonly linking: Linking | null }>()(() => ({ linking: null }));

const REACH = 26;

export function linking(): Linking | null {
  return useLinking.getState().linking;
}

export function startLink(from: PortEnd, at: Point, by: Linking["by"], taken: string | null = null): void {
  useLinking.setState({ linking: { from, taken, by, at, aim: null, verdict: null } });
}

export function stopLink(): void {
  if (linking() !== null) useLinking.setState({ linking: null });
}

/** The pointer is over a point: aim at the port there. */
export function leadLink(scene: Scene, at: Point, zoom: number): void {
  const now = linking();
  if (now === null) return;
  const aim = portAt(scene, now, at, REACH / zoom);
  const isSame = aim === now.aim || (aim !== null && now.aim !== null && aim.node === now.aim.node && aim.port === now.aim.port);
  if (isSame) useLinking.setState({ linking: { ...now, at } });
  else useLinking.setState({ linking: { ...now, at, aim, verdict: aim === null ? null : verdictFor(scene, now.from, aim) } });
}

export function aimAt(scene: Scene, aim: PortEnd): void {
  const now = linking();
  const item = scene.items.get(aim.node);
  const at = portPoint(item, aim.port, aim.side);
  if (now === null || at === undefined) return;
  useLinking.setState({ linking: { ...now, at, aim, verdict: verdictFor(scene, now.from, aim) } });
}

/** What `judge` says of a wire between two ports, whichever of them is the output. */
function verdictFor(scene: Scene, one: PortEnd, other: PortEnd): Verdict {
  const [from, to] = ordered(one, other);
  return judge(scene.document, scene.scope, scene.catalogue, from, to);
}

/** Ports that the wire could end at, the nearest first. */
export function candidates(scene: Scene, from: PortEnd): readonly PortEnd[] {
  const start = portPoint(scene.items.get(from.node), from.port, from.side) ?? { x: 0, y: 0 };
  const found: { readonly end: PortEnd; readonly distance: number }[] = [];
  for (const item of scene.items.values()) {
    if (item.kind !== "node" || item.id === from.node) continue;
    for (const end of portsOfSide(item, opposite(from.side))) {
      if (!couldFit(scene, from, end) || !verdictFor(scene, from, end).ok) continue;
      const at = portPoint(item, end.port, end.side) ?? start;
      found.push({ end, distance: Math.hypot(at.x - start.x, at.y - start.y) });
    }
  }
  return found.sort((a, b) => a.distance - b.distance).map((one) => one.end);
}

/** Whether the types fit, without asking for more: quick enough for every port that is seen. */
export function couldFit(scene: Scene, one: PortEnd, other: PortEnd): boolean {
  const [output, input] = one.side === "output" ? [one, other] : [other, one];
  if (output.side === input.side) return false;
  const from = portAtEnd(scene.items.get(output.node), output)?.type;
  const target = portAtEnd(scene.items.get(input.node), input);
  const to = target?.type;
  if (target !== undefined && "hint" in target && target.hint?.hint === "file") return false; // files are chosen in place
  if (from === undefined || to === undefined) return true;
  return scene.catalogue.fits[from]?.[to] !== undefined || !(from in scene.catalogue.fits);
}

/** End the wire where it aims: connects, replaces, removes, offers a converter, or opens the list of nodes. */
export function endLink(scene: Scene): void {
  const now = linking();
  stopLink();
  if (now === null) return;
  if (now.aim !== null && now.verdict !== null) {
    if (now.verdict.ok) finish(now, now.aim);
    else refuse(scene, now, now.aim, now.verdict);
  } else if (now.taken !== null) {
    const { taken } = now;
    useDocuments.getState().apply("canvas.disconnected", disconnect(scene.scope, taken));
    announce(t("canvas.saidDisconnected", { to: taken }));
  } else if (now.by === "pointer") openAddNode({ at: now.at, from: now.from });

  function finish(link: Linking, aim: PortEnd): void {
    const [from, to] = ordered(link.from, aim);
    if (link.taken === to && linkAt(scene, to) === from) return;
    const without = link.taken !== null && link.taken !== to ? disconnect(scene.scope, link.taken) : unchanged;
    useDocuments.getState().apply("canvas.connected", (document) => connect(scene.scope, from, to)(without(document)));
    announce(t("canvas.saidConnected", { from, to }));
  }
}

function unchanged(document: WorkflowDocument): WorkflowDocument {
  return document;
}

function linkAt(scene: Scene, to: string): string | null {
  const { node, port } = split(to);
  const value = scopeOf(scene.document, scene.scope).nodes[node]?.inputs[port];
  return isLink(value) ? value.link : null;
}

function refuse(scene: Scene, link: Linking, aim: PortEnd, verdict: Verdict & { ok: false }): void {
  const converter = verdict.converters[0];
  const title = converter === undefined ? undefined : scene.catalogue.types.get(converter)?.title;
  const [from, to] = ordered(link.from, aim);
  const { active } = useDocuments.getState();
  // The offer stays a while: another document, or another part of this one, may be shown by then.
  const isShown = (): boolean => useDocuments.getState().active === active && currentScene()?.scope === scene.scope;
  const action = converter === undefined || title === undefined
    ? undefined
    : { title: t("canvas.insertConverter", { title }), run: () => { if (isShown()) insertConverter(converter, from, to, link.taken); } };
  say(verdict.reason, { kind: "warn", ...(action && { action }) });
  announce(verdict.reason);
}

/** Put a node of a type between an output and an input that do not fit. */
function insertConverter(type: string, from: string, to: string, taken: string | null = null): void {
  const open = activeDocument();
  const scene = currentScene();
  const found = scene?.catalogue.types.get(type);
  if (open === undefined || scene === null || found === undefined) return;
  const document = open.history.document;
  const id = freshId(scopeOf(document, scene.scope), type.split("/").at(-1) ?? type);
  const taking = [...scene.items.values()].filter((item) => item.kind !== "frame").map(wholeBox);
  const { width, height } = measure(found, { type, inputs: {} }, undefined);
  const at = pointOf(roomFor({ ...halfway(scene.items.get(split(from).node), scene.items.get(split(to).node)), width, height }, taking));
  const added = addNode(scene.scope, id, { type, inputs: {} }, at)(document);
  const into = found.inputs.find((port) => judge(added, scene.scope, scene.catalogue, from, `${id}.${port.name}`).ok);
  const out = found.outputs.find((port) => judge(added, scene.scope, scene.catalogue, `${id}.${port.name}`, to).ok);
  if (into === undefined || out === undefined) return;
  useDocuments.getState().apply("canvas.converted", (before) => {
    const freed = taken !== null && taken !== to ? disconnect(scene.scope, taken)(before) : before;
    const placed = addNode(scene.scope, id, { type, inputs: {} }, at)(freed);
    return connect(scene.scope, `${id}.${out.name}`, to)(connect(scene.scope, from, `${id}.${into.name}`)(placed));
  });
  useDocuments.getState().select([id]);
}

/** The scene that is shown; the canvas keeps it here for what is done outside of rendering. */
let shown: Scene | null = null;
const watchers = new Set<() => void>();
export function currentScene(): Scene | null {
  return shown;
}
export function keepScene(scene: Scene | null): void {
  shown = scene;
  for (const watcher of watchers) watcher();
}
/** Be told of each new scene, until the returned function is called. */
export function watchScene(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function pointOf({ x, y }: Point): Point {
  return { x, y };
}

function halfway(source: Item | undefined, target: Item | undefined): Point {
  if (source === undefined || target === undefined) return { x: 0, y: 0 };
  return { x: Math.round((source.x + target.x) / 2), y: Math.round((source.y + target.y) / 2) + 40 };
}

function ordered(one: PortEnd, other: PortEnd): readonly [from: string, to: string] {
  const [output, input] = one.side === "output" ? [one, other] : [other, one];
  return [`${output.node}.${output.port}`, `${input.node}.${input.port}`];
}

function opposite(side: PortEnd["side"]): PortEnd["side"] {
  return side === "input" ? "output" : "input";
}

function portAtEnd(item: Item | undefined, end: PortEnd): InputPort | OutputPort | undefined {
  if (item?.kind !== "node") return undefined;
  const ports: readonly (InputPort | OutputPort)[] = end.side === "input" ? item.ports.inputs : item.ports.outputs;
  return ports.find((port) => port.name === end.port);
}

function portsOfSide(item: NodeItem, side: PortEnd["side"]): readonly PortEnd[] {
  return item.measured.ports.filter((port) => port.side === side).map((port) => ({ node: item.id, port: port.name, side }));
}

/** The port within reach of a point; over a node's body its first port that fits, else its first, which says why not. */
function portAt(scene: Scene, link: Linking, at: Point, reach: number): PortEnd | null {
  const side = opposite(link.from.side);
  let best: { readonly end: PortEnd; readonly distance: number } | null = null;
  let under: NodeItem | null = null;
  for (const item of scene.items.values()) {
    if (item.kind !== "node" || !isIn(item, at, reach)) continue;
    for (const end of portsOfSide(item, side)) {
      const point = portPoint(item, end.port, end.side);
      const distance = point === undefined ? Infinity : Math.hypot(point.x - at.x, point.y - at.y);
      if (distance < reach && distance < (best?.distance ?? Infinity)) best = { end, distance };
    }
    if (isIn(item, at)) under = item;
  }
  if (best !== null) return best.end;
  if (under === null || under.id === link.from.node) return null;
  const ends = portsOfSide(under, side);
  return ends.find((end) => couldFit(scene, link.from, end)) ?? ends[0] ?? null;
}
