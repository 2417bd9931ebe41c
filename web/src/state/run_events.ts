/** What a job looks like from what was told of it: a snapshot, then its changes. Pure; see `server/jobs/hub.py`. */

import { type SocketEvent, told } from "../api/socket";
import type { JobState, JobView, NodeRow, NodeRunState, ProblemDocument, ProgressFacts } from "../api/jobs";
import type { JsonObject } from "../model/document";

export interface Run {
  readonly id: string;
  readonly state: JobState;
  readonly workflow: string;
  readonly client: string;
  readonly priority: number;
  readonly created: number;
  readonly started: number | null;
  readonly ended: number | null;
  readonly seconds: number | null;
  readonly seeds: { readonly [port: string]: number };
  readonly problem: ProblemDocument | null;
  readonly outputs: JsonObject;
  readonly absent: { readonly [name: string]: string };
  readonly messages: readonly string[];
  /** By run id. Each change makes a new map; rows that did not change are the same objects. */
  readonly rows: ReadonlyMap<string, NodeRow>;
}

const EMPTY: Omit<Run, "id"> = {
  state: "queued", workflow: "", client: "", priority: 0, created: 0, started: null, ended: null, seconds: null, seeds: {},
  problem: null, outputs: {}, absent: {}, messages: [], rows: new Map(),
};
const FINAL: ReadonlySet<JobState> = new Set(["done", "failed", "cancelled"]);
const FACTS = ["state", "workflow", "client", "priority", "created", "started", "ended", "seconds", "seeds", "problem", "outputs", "absent", "messages"];

export function isFinal(state: JobState): boolean {
  return FINAL.has(state);
}

/** How many nodes are in each state. */
export function countsOf(run: Run): Partial<Record<NodeRunState, number>> {
  const found: Partial<Record<NodeRunState, number>> = {};
  for (const row of run.rows.values()) found[row.state] = (found[row.state] ?? 0) + 1;
  return found;
}

export function runOfView(view: JobView): Run {
  return { ...factsOf({ ...EMPTY, id: view.id }, view as unknown as SocketEvent), rows: rowsOf(view.nodes) }; // its facts have the names of events
}

/** The run after these events, all of its own stream, in order. */
export function applyEvents(before: Run | undefined, id: string, events: readonly SocketEvent[]): Run {
  let run: Run = before ?? { ...EMPTY, id };
  let rows: Map<string, NodeRow> | null = null;
  const changed = (): Map<string, NodeRow> => (rows ??= new Map(run.rows));
  for (const event of events) {
    switch (event.event) {
      case "snapshot":
        rows = rowsOf(told(event, "nodes"));
        run = factsOf(run, event);
        break;
      case "planned":
        rows = rowsOf(told(event, "nodes"));
        run = { ...run, messages: [] };
        break;
      case "job":
        run = factsOf(run, event);
        if (run.state === "queued") rows = new Map(); // its process died: it begins anew
        break;
      case "end":
        run = factsOf(run, event);
        settle(changed(), run.state);
        break;
      case "node":
        enter(changed(), event);
        break;
      case "cached":
        for (const node of told<readonly string[]>(event, "nodes")) put(changed(), node, { state: "cached" });
        break;
      case "progress":
        put(changed(), String(event["node"]), { state: "running", progress: progressOf(event) });
        break;
      case "note":
        if (event["node"] === "") run = { ...run, messages: [...run.messages, String(event["message"])] };
        else put(changed(), String(event["node"]), { note: String(event["message"]) });
        break;
    }
  }
  return rows === null ? run : { ...run, rows };
}

/** A node that was skipped without a reason was not wanted by this run: nothing is said of it. */
function rowsOf(rows: readonly NodeRow[] | undefined): Map<string, NodeRow> {
  const wanted = (rows ?? []).filter((row) => row.state !== "skipped" || row.message !== undefined || row.note !== undefined);
  return new Map(wanted.map((row) => [row.id, row]));
}

function factsOf(run: Run, event: SocketEvent): Run {
  const found: Record<string, unknown> = {};
  for (const name of FACTS) if (event[name] !== undefined) found[name] = event[name];
  return { ...run, ...found };
}

function put(rows: Map<string, NodeRow>, id: string, part: Partial<NodeRow>): void {
  rows.set(id, { ...(rows.get(id) ?? { id, type: "", state: "waiting" }), ...part });
}

function progressOf(event: SocketEvent): ProgressFacts {
  const element = event["element"];
  return {
    step: Number(event["step"]), total: Number(event["total"]), eta_seconds: told<number | null | undefined>(event, "eta_seconds") ?? null,
    ...(typeof element === "number" ? { element } : {}),
  };
}

/** A node's new state; of one element of a mapped node only the counts count. */
function enter(rows: Map<string, NodeRow>, event: SocketEvent): void {
  const id = String(event["node"]);
  const before = rows.get(id) ?? { id, type: "", state: "waiting" as const };
  const state = told<NodeRunState>(event, "state");
  if (typeof event["element"] === "number") {
    const elements = told<NodeRow["elements"]>(event, "elements");
    const { progress, ...rest } = before;
    const whole = mappedState(elements ?? {}, state);
    const kept = whole === "running" && progress !== undefined ? { progress } : {};
    rows.set(id, { ...rest, ...kept, state: whole, ...said(event, before), ...(elements === undefined ? {} : { elements }) });
    return;
  }
  const { progress, ...rest } = before;
  rows.set(id, { ...rest, state, ...said(event, before), ...(state === "running" && progress !== undefined ? { progress } : {}) });
}

function said(event: SocketEvent, before: NodeRow): Partial<NodeRow> {
  const isElement = typeof event["element"] === "number";
  const seconds = typeof event["seconds"] === "number" ? event["seconds"] + (isElement ? (before.seconds ?? 0) : 0) : undefined;
  return {
    ...(seconds === undefined ? {} : { seconds }),
    ...(typeof event["device"] === "string" ? { device: event["device"] } : {}),
    ...(typeof event["message"] === "string" ? { message: event["message"] } : {}),
    ...(typeof event["code"] === "string" ? { code: event["code"] } : {}),
  };
}

/** What a mapped node is, from its elements; the same order as `server/jobs/rows.py`. */
function mappedState(elements: { readonly [state: string]: number }, otherwise: NodeRunState): NodeRunState {
  const waiting = elements["waiting"] ?? 0;
  const total = elements["total"] ?? 0;
  if ((elements["running"] ?? 0) > 0 || (waiting > 0 && waiting < total)) return "running";
  return (["failed", "cancelled", "skipped", "done", "cached"] as const).find((state) => (elements[state] ?? 0) > 0) ?? otherwise;
}

/** Nothing of an ended job runs or waits; what still waits when it is done was not wanted. */
function settle(rows: Map<string, NodeRow>, state: JobState): void {
  for (const row of rows.values()) {
    if (row.state !== "running" && row.state !== "waiting") continue;
    const { progress: _, ...rest } = row;
    if (state === "done" && row.state === "waiting") rows.delete(row.id);
    else rows.set(row.id, { ...rest, state: state === "done" ? "done" : "cancelled" });
  }
}
