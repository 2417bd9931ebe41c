/** Sweeps: one job per combination of values of one or two inputs, kept with the draft and shown as a grid. */

import { cancelJob, readJob } from "../api/client";
import type { Catalogue } from "../model/catalogue";
import { type Json, type JsonObject, type WorkflowDocument, targets } from "../model/document";
import { type HeldPort, heldPort, heldPorts, withValues } from "../model/values";
import type { OpenDocument } from "./documents";
import { newId } from "./documents";
import type { Sweep, SweepAxis } from "./memory";
import { isFinal } from "./run_events";
import { changeMemory, enterJob, useRuns } from "./runs";
import { submit } from "./submit";

export const MOST_SWEEP_JOBS = 100;

export type SweepKind = "number" | "text" | "bool";

/** An input that a sweep can go over. */
export interface SweepInput {
  /** "node.port", several for a named input. */
  readonly ports: readonly string[];
  readonly label: string;
  readonly kind: SweepKind;
  readonly isWhole: boolean;
  readonly options: readonly string[];
  readonly value: Json | undefined;
}

/** The named inputs of a document, then every other literal port of its nodes, those inside of instances too. */
export function sweepInputs(document: WorkflowDocument, catalogue: Catalogue): SweepInput[] {
  const labels = Object.entries(document.inputs ?? {}).map(([name, input]) => input.label ?? name);
  const named = Object.entries(document.inputs ?? {}).flatMap(([name, input]) => {
    const ports = targets(input);
    const found = ports[0] === undefined ? null : inputOf(heldPort(document, catalogue, ports[0]));
    const label = input.label ?? name;
    const isTwice = labels.indexOf(label) !== labels.lastIndexOf(label);
    return found === null ? [] : [{ ...found, ports, label: isTwice ? `${label} (${name})` : label }];
  });
  const taken = new Set(named.flatMap((input) => input.ports));
  const others = heldPorts(document, catalogue).filter((held) => !taken.has(held.reference)).map(inputOf);
  return [...named, ...others.filter((input) => input !== null)];
}

function inputOf(held: HeldPort | null): SweepInput | null {
  if (held === null) return null;
  const { reference, port, value } = held;
  const kind = ({ int: "number", float: "number", text: "text", bool: "bool" } as const)[port.type];
  if (kind === undefined) return null;
  const options = port.hint?.hint === "choice" ? port.hint.options : kind === "bool" ? ["true", "false"] : [];
  return { ports: [reference], label: reference, kind, isWhole: port.type === "int", options, value };
}

const RANGE = /^(-?[\d.]+(?:e-?\d+)?)\s*\.\.\s*(-?[\d.]+(?:e-?\d+)?)(?:\s+by\s+([\d.]+(?:e-?\d+)?))?$/i;

/** The values that a text lists, one per line; of numbers also ranges "1..10", "0..1 by 0.25". `bad` is what is none. */
export function readValues(text: string, kind: SweepKind): { values: Json[] } | { bad: string } {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  if (kind === "text") return { values: lines };
  if (kind === "bool") return { values: lines.map((line) => line === "true") };
  const values: number[] = [];
  for (const part of lines.flatMap((line) => (RANGE.test(line) ? [line] : line.split(/[,;\s]+/)))) {
    const range = RANGE.exec(part);
    if (range !== null) values.push(...rangeOf(Number(range[1]), Number(range[2]), Number(range[3] ?? 1)));
    else if (part !== "" && Number.isFinite(Number(part))) values.push(Number(part));
    else return { bad: part };
    if (values.length > 10 * MOST_SWEEP_JOBS) break;
  }
  return { values: [...new Set(values)] };
}

function rangeOf(from: number, to: number, by: number): number[] {
  if (!(by > 0) || !Number.isFinite(from) || !Number.isFinite(to)) return [];
  const count = Math.min(10 * MOST_SWEEP_JOBS, Math.floor(Math.abs(to - from) / by + 1e-9) + 1);
  const sign = to < from ? -1 : 1;
  return Array.from({ length: count }, (_, at) => Number((from + sign * at * by).toPrecision(12)));
}

/** The values of each cell, first axis first. */
export function cellsOf(axes: readonly SweepAxis[]): JsonObject[] {
  const [first, second] = axes;
  if (first === undefined) return [];
  const valued = (axis: SweepAxis, value: Json): JsonObject => Object.fromEntries(axis.ports.map((port) => [port, value]));
  return first.values.flatMap((a) =>
    second === undefined ? [valued(first, a)] : second.values.map((b) => ({ ...valued(first, a), ...valued(second, b) })),
  );
}

/** Send the jobs of a sweep, one after the other; the grid fills as they end. */
export async function startSweep(active: OpenDocument, axes: readonly SweepAxis[]): Promise<void> {
  const cells = cellsOf(axes);
  const sweep: Sweep = { id: newId(), created: Date.now(), axes, jobs: cells.map(() => null) };
  changeMemory(active.id, (memory) => ({ ...memory, sweeps: [...memory.sweeps, sweep] }));
  const document = active.history.document;
  await submit(cells.map((set, at) => (
    { draft: active.id, batch: sweep.id, workflow: withValues(document, set), set, cell: { sweep: sweep.id, at } }
  )));
}

/** Read the jobs of a sweep that this page has not heard of, after a reload. */
export async function loadSweep(sweep: Sweep): Promise<void> {
  const unknown = sweep.jobs.filter((id): id is string => id !== null && !useRuns.getState().runs.has(id));
  for (const id of unknown) {
    try {
      enterJob(await readJob(id));
    } catch {
      // forgotten by the server: its cell stays empty
    }
  }
}

export async function cancelSweep(sweep: Sweep): Promise<void> {
  const { runs } = useRuns.getState();
  const open = sweep.jobs.filter((id): id is string => id !== null && !isFinal(runs.get(id)?.state ?? "queued"));
  await Promise.allSettled(open.map((id) => cancelJob(id)));
}

const PICTURE = /\.(png|webp|jpe?g|avif|gif)$/i;

/** The id in the gallery of the picture that a run saved: its file's name without the ending; null for none. */
export function pictureOf(outputs: JsonObject): string | null {
  const found = Object.values(outputs).flat().find((value) => typeof value === "string" && PICTURE.test(value));
  return typeof found === "string" ? found.replace(PICTURE, "") : null;
}
