// @vitest-environment happy-dom

import { beforeEach, expect, test, vi } from "vitest";

import type { WorkflowDocument } from "../model/document";
import { useDocuments } from "../state/documents";
import { closePalette } from "../state/palette";
import { colourSelection } from "./colouring";
import { promoteInput, namableInputs } from "./promoting";
import { here } from "./here";
import { layOut } from "./laying_out";
import { COMMANDS, runCommand } from "./registry";
import { CHAIN, after, link, node, openOnly, selected, shown, steps, view } from "./testing";

/** What is answered to the question for a name. */
let answer: Promise<string | null> = Promise.resolve(null);
vi.mock("../ui/ask", () => ({ askText: () => answer }));

beforeEach(() => closePalette());

const FRAMED: WorkflowDocument = { ...CHAIN, view: { ...CHAIN.view, frames: [{ id: "f", title: "F", x: -50, y: -50, width: 640, height: 400 }] } };
const isEnabled = (id: string): boolean => COMMANDS.get(id)?.enabled?.() ?? true;

test("delete takes the selected nodes with the links to them, as one step", async () => {
  const document = await after("delete_items", CHAIN, ["b"]);
  expect(Object.keys(document.nodes)).toEqual(["a", "c"]);
  expect(document.nodes["c"]?.inputs).toEqual({});
  expect(selected()).toEqual([]);
  expect(steps()).toBe(1);
  useDocuments.getState().undo();
  expect(shown()).toBe(CHAIN);
});

test("delete and close the gap links what was before to what comes after", async () => {
  expect((await after("delete_and_heal", CHAIN, ["b"])).nodes["c"]?.inputs).toEqual({ image: link("a.image") });
});

test("select all takes nodes, frames and notes", async () => {
  await after("select_all", FRAMED);
  expect(selected()).toEqual(["a", "b", "c", "frame:f"]);
});

test("what comes before and after is selected along the links", async () => {
  await after("select_upstream", CHAIN, ["b"]);
  expect(new Set(selected())).toEqual(new Set(["a", "b"]));
  await after("select_downstream", CHAIN, ["b"]);
  expect(new Set(selected())).toEqual(new Set(["b", "c"]));
});

test("mute mutes all that is selected, and again takes it back", async () => {
  const muted = await after("mute", CHAIN, ["a", "b"]);
  expect([muted.nodes["a"]?.state, muted.nodes["b"]?.state, muted.nodes["c"]?.state]).toEqual(["muted", "muted", undefined]);
  expect((await after("mute", muted, ["a", "b"])).nodes["a"]?.state).toBeUndefined();
});

test("muting some that are muted already mutes the others", async () => {
  const one = await after("mute", CHAIN, ["a"]);
  expect((await after("mute", one, ["a", "b"])).nodes["a"]?.state).toBe("muted");
});

test("bypassing a frame bypasses what lies in it", async () => {
  const document = await after("bypass", FRAMED, ["frame:f"]);
  expect(Object.values(document.nodes).map((one) => one.state)).toEqual(["bypassed", "bypassed", undefined]);
});

test("collapse collapses, and again opens", async () => {
  const collapsed = await after("collapse", CHAIN, ["a"]);
  expect(view(collapsed).nodes?.["a"]?.collapsed).toBe(true);
  expect(view(await after("collapse", collapsed, ["a"])).nodes?.["a"]?.collapsed).toBeUndefined();
});

test("a frame is made around the selection and selected", async () => {
  const frame = view(await after("frame_selection", CHAIN, ["a", "b"])).frames?.[0];
  expect(frame !== undefined && frame.x < 0 && frame.y < 0 && frame.x + frame.width > 300 + 168).toBe(true);
  expect(selected()).toEqual([`frame:${frame?.id}`]);
});

test("a note is added and selected", async () => {
  const note = view(await after("add_note", CHAIN)).notes?.[0];
  expect(note?.text).toBe("");
  expect(selected()).toEqual([`note:${note?.id}`]);
});

test("left edges are aligned, in one step", async () => {
  const nodes = view(await after("align_left", CHAIN, ["a", "b", "c"])).nodes;
  expect([nodes?.["a"]?.x, nodes?.["b"]?.x, nodes?.["c"]?.x]).toEqual([0, 0, 0]);
  expect(steps()).toBe(1);
});

test("aligning a frame takes what lies in it along", async () => {
  const far: WorkflowDocument = { ...FRAMED, view: { ...FRAMED.view, nodes: { ...FRAMED.view?.nodes, c: { x: 900, y: 500 } } } };
  const moved = view(await after("align_top", far, ["frame:f", "c"]));
  const [frame] = moved.frames ?? [];
  expect(frame?.y).toBe(moved.nodes?.["c"]?.y);
  expect((moved.nodes?.["b"]?.y ?? 0) - (frame?.y ?? 0)).toBe(40 - -50);
});

test("aligning needs two, distributing three", () => {
  openOnly(CHAIN, ["a"]);
  expect(isEnabled("align_left")).toBe(false);
  openOnly(CHAIN, ["a", "b"]);
  expect([isEnabled("align_left"), isEnabled("distribute_horizontal")]).toEqual([true, false]);
});

test("duplicate gives the same nodes with their links, beside the old ones, selected", async () => {
  const document = await after("duplicate", CHAIN, ["b"]);
  const [id] = selected();
  expect(id).toBe("b_2");
  expect(document.nodes["b_2"]).toEqual(CHAIN.nodes["b"]);
  expect(view(document).nodes?.["b_2"]).not.toEqual(view(document).nodes?.["b"]);
  expect(steps()).toBe(1);
});

test("colours go to nodes, frames and notes alike, and can be taken away", () => {
  openOnly(FRAMED, ["a", "frame:f"]);
  colourSelection("teal");
  expect([view(shown()).nodes?.["a"]?.color, view(shown()).frames?.[0]?.color]).toEqual(["teal", "teal"]);
  colourSelection(null);
  expect([view(shown()).nodes?.["a"]?.color, view(shown()).frames?.[0]?.color]).toEqual([undefined, undefined]);
});

test("inputs that hold a value can be named; linked and named ones cannot", () => {
  openOnly(CHAIN, ["b"]);
  const at = here();
  expect(at !== null && namableInputs(at, "b")).toEqual(["b.radius"]);
  promoteInput("b.radius");
  expect(shown().inputs).toEqual({ radius: { to: "b.radius" } });
  const now = here();
  expect(now !== null && namableInputs(now, "b")).toEqual([]);
});

test("a name that is taken is numbered", () => {
  openOnly({ ...CHAIN, inputs: { radius: { to: "a.size" } } }, ["b"]);
  promoteInput("b.radius");
  expect(Object.keys(shown().inputs ?? {})).toEqual(["radius", "radius_2"]);
});

test("the one output there is gets its name at once", async () => {
  expect((await after("promote_output", CHAIN, ["a"])).outputs).toEqual({ image: { from: "a.image" } });
});

const NESTED: WorkflowDocument = {
  ...CHAIN,
  nodes: { ...CHAIN.nodes, s: node("#part") },
  subgraphs: { part: { nodes: { inner: node("make") }, outputs: { image: { from: "inner.image" } } } },
};

test("a subgraph is entered and left, and its instance is selected then", async () => {
  await after("enter_subgraph", NESTED, ["s"]);
  expect(here()?.scopeId).toBe("part");
  expect(isEnabled("leave_subgraph")).toBe(true);
  void COMMANDS.get("leave_subgraph")?.run();
  expect([here()?.scopeId, selected()]).toEqual(["", ["s"]]);
});

test("only an instance can be entered or unpacked", () => {
  openOnly(NESTED, ["a"]);
  expect([isEnabled("enter_subgraph"), isEnabled("unpack_subgraph")]).toEqual([false, false]);
});

test("unpacking puts the nodes in place and selects them", async () => {
  openOnly(NESTED, ["s"]);
  await COMMANDS.get("unpack_subgraph")?.run();
  const document = shown();
  expect(document.nodes["s"]).toBeUndefined();
  expect(document.subgraphs).toBeUndefined();
  expect(selected().map((id) => document.nodes[id]?.type)).toEqual(["make"]);
});

test("without a selection nothing that needs one can be run", () => {
  openOnly(CHAIN);
  const needing = ["delete_items", "mute", "bypass", "collapse", "copy", "cut", "duplicate", "frame_selection", "make_subgraph", "rename", "colour"];
  expect(needing.filter(isEnabled)).toEqual([]);
});

test("without a document nothing of editing can be run, and nothing breaks", () => {
  useDocuments.setState({ open: [], active: "" });
  for (const command of COMMANDS.values()) expect(() => command.enabled?.()).not.toThrow();
  expect(["add_node", "select_all", "paste", "layout_all"].filter(isEnabled)).toEqual([]);
});

test("framing and naming the frame are one step", async () => {
  answer = Promise.resolve("Sketch");
  const document = await after("frame_selection", CHAIN, ["a", "b"]);
  expect(view(document).frames?.[0]?.title).toBe("Sketch");
  expect(steps()).toBe(1);
});

test("cut takes what was selected when it was asked for", async () => {
  vi.stubGlobal("navigator", { clipboard: { writeText: async () => useDocuments.getState().select(["c"]) } });
  const document = await after("cut", CHAIN, ["a"]);
  vi.unstubAllGlobals();
  expect(Object.keys(document.nodes)).toEqual(["b", "c"]);
});

test("a subgraph is made in the document it was asked for in, whichever is shown when its code has come", async () => {
  answer = Promise.resolve("Both");
  openOnly(CHAIN, ["a", "b"]);
  const first = useDocuments.getState().active;
  runCommand("make_subgraph");
  useDocuments.getState().add(CHAIN);
  await vi.waitFor(() => expect(Object.keys(useDocuments.getState().open.find((one) => one.id === first)?.history.document.subgraphs ?? {})).toHaveLength(1));
  expect(shown()).toBe(CHAIN);
});

test("a layout takes out the points of the wires between what it moves, in the same step", async () => {
  openOnly({ ...CHAIN, view: { ...CHAIN.view, wires: { "b.image": { points: [[9, 9]] }, "c.image": { points: [[5, 5]] } } } }, ["a", "b"]);
  await layOut(["a", "b"], "edit.layout_selection");
  expect(Object.keys(shown().view?.wires ?? {})).toEqual(["c.image"]);
  expect(steps()).toBe(1);
});
