/**
 * How large a node is drawn and where its ports are, from its type and view alone: known before anything is mounted, and
 * the same for the canvas layer, the minimap, the wires and the automatic layout.
 */

import type { InputPort, NodeType, OutputPort } from "./catalogue";
import type { Node, NodeView } from "./document";

export const WIDTH = 240;
export const LEAST_WIDTH = 168;
export const HEADER = 32;
export const ROW = 24;
const TEXT_ROW = 80;
export const FILE_ROW = 112;
/** The line at the end that says how the node stands. Always there, so that a run changes no sizes. */
const FOOT = 27;
/** What automatic placing leaves free below a node that shows a picture there. */
const PICTURE_ROOM = 208;

/** Wire types whose values are pictures (`PICTURES` of `server/library/value_pictures.py`). */
const PICTURES: ReadonlySet<string> = new Set(["Image", "Mask"]);

/** Wire types whose values can be written into a workflow (`graph/types.py`). */
const PLAIN: ReadonlySet<string> = new Set(["bool", "float", "int", "text"]);

export interface Ports {
  readonly inputs: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
}

/** A line of a node's body: sockets without a value at the left, outputs at the right, then one value per line. */
export interface Row {
  readonly input?: InputPort;
  readonly output?: OutputPort;
  /** Whether the input's value can be edited in place. */
  readonly value: boolean;
  readonly y: number;
  readonly height: number;
}

export interface PlacedPort {
  readonly name: string;
  readonly side: "input" | "output";
  /** Middle of the port, from the node's top; inputs lie on its left edge, outputs on its right. */
  readonly y: number;
}

export interface Measured {
  readonly width: number;
  readonly height: number;
  readonly ports: readonly PlacedPort[];
}

/** Whether a value for the input can be written in place: a plain one, or a list of plain ones. */
export function takesValue(input: InputPort): boolean {
  return PLAIN.has(elementType(input.type));
}

/** The type without `list[...]`. */
export function elementType(type: string): string {
  return type.startsWith("list[") ? type.slice(5, -1) : type;
}

/** The output whose picture is shown below a node; `isSaved`: it names a file of the gallery. */
export interface PicturePort {
  readonly port: string;
  readonly isSaved: boolean;
}

/** Nodes that let one choose a picture show it in their own rows already. */
export function pictureOf(ports: Ports, type: NodeType | undefined): PicturePort | null {
  if (ports.inputs.some((input) => input.hint?.hint === "file")) return null;
  const picture = ports.outputs.find((output) => PICTURES.has(elementType(output.type)));
  if (picture !== undefined) return { port: picture.name, isSaved: false };
  const name = type?.effect === true ? ports.outputs.find((output) => elementType(output.type) === "text") : undefined;
  return name === undefined ? null : { port: name.name, isSaved: true };
}

/** How much is to be left free below a node: for its picture, or for its live preview. */
export function roomBelow(ports: Ports, type: NodeType | undefined, view: NodeView | undefined): number {
  if (view?.collapsed === true) return 0;
  const samples = ports.inputs.some((input) => input.type === "Denoiser") && ports.outputs.some((output) => output.type === "Latents");
  return samples || pictureOf(ports, type) !== null ? PICTURE_ROOM : 0;
}

export function rowsOf(ports: Ports): readonly Row[] {
  const sockets = ports.inputs.filter((input) => !takesValue(input));
  const values = ports.inputs.filter(takesValue);
  const rows: Row[] = [];
  let y = HEADER;
  const add = (row: Omit<Row, "y" | "height">, height: number): void => {
    rows.push({ ...row, y, height });
    y += height;
  };
  for (let at = 0; at < Math.max(sockets.length, ports.outputs.length); at++) {
    const input = sockets[at];
    const output = ports.outputs[at];
    add({ ...(input && { input }), ...(output && { output }), value: false }, ROW);
  }
  for (const input of values) add({ input, value: true }, heightOf(input));
  return rows;
}

/** Size and ports of a node. `ports`: its type, or whatever else shows ports; undefined: none are known. */
export function measure(ports: Ports | NodeType | undefined, _node: Node, view: NodeView | undefined): Measured {
  const width = Math.max(LEAST_WIDTH, view?.width ?? WIDTH);
  const known = ports ?? { inputs: [], outputs: [] };
  const rows = rowsOf(known);
  const collapsed = view?.collapsed === true;
  const last = rows.at(-1);
  const height = collapsed ? HEADER : last === undefined ? HEADER + FOOT : last.y + last.height + FOOT;
  const middle = (row: Row): number => (collapsed ? HEADER / 2 : row.y + ROW / 2);
  const placed: PlacedPort[] = [];
  for (const row of rows) {
    if (row.input !== undefined) placed.push({ name: row.input.name, side: "input", y: middle(row) });
    if (row.output !== undefined) placed.push({ name: row.output.name, side: "output", y: middle(row) });
  }
  return { width, height, ports: placed };
}

function heightOf(input: InputPort): number {
  if (input.type.startsWith("list[")) return TEXT_ROW;
  if (input.hint?.hint === "text" && input.hint.multiline) return TEXT_ROW;
  if (input.hint?.hint === "file") return input.hint.kinds.includes("image") ? FILE_ROW : ROW;
  return ROW;
}
