/** Any sequence of edits, in the document and its subgraphs: undo gives the first document, redo the last, byte for byte. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { align } from "./align";
import { writeDocument } from "./canonical";
import { copyFragment, pasteFragment } from "./clipboard";
import { judge } from "./connect";
import { differences } from "./diff";
import { type Json, type JsonObject, type Scope, type WorkflowDocument, isLink, split, targets } from "./document";
import * as edits from "./edit";
import { linksOf } from "./graph";
import { type Edit, type History, applied, begin, redone, undone } from "./history";
import { portsOf } from "./ports";
import { readDocument } from "./read";
import { makeSubgraph, removeSubgraph, unpack } from "./subgraphs";
import { frozen, nodes, smallCatalogue, workflow } from "./testing";

const catalogue = smallCatalogue();

/** A node whose id and ports every object knows already. */
const ODD = Object.fromEntries([["constructor", ["text", JSON.parse('{"__proto__": 1, "value": "x"}') as JsonObject] as const]]);

function first(): WorkflowDocument {
  return workflow(
    {
      load: ["load", { file: { file: "a.png", sha256: "0".repeat(64) } }], blur: ["blur", { image: "load.image", "7": 1, "1": 2 }],
      up: ["#up", { image: "blur.image" }], save: ["save", { image: "up.image" }], ...ODD,
    },
    {
      name: "first", description: "d", inputs: { radius: { to: ["blur.radius", "up.seed"], label: "Radius" } }, outputs: { image: { from: "up.image" } },
      subgraphs: {
        up: {
          nodes: nodes({ encode: ["encode", { seed: 3 }], decode: ["decode", { latents: "encode.latents" }], inner: ["#leaf"] }),
          inputs: { image: { to: "encode.image" }, seed: { to: "encode.seed" } }, outputs: { image: { from: "decode.image" } },
          view: { nodes: { encode: { x: 5, y: 6 } } },
        },
        leaf: { nodes: nodes({ text: ["text", { value: "leaf" }] }), outputs: { said: { from: "text.value" } }, "x-mine": [1] },
      },
      view: {
        nodes: { load: { x: 0, y: 0 }, blur: { x: 300, y: 20, title: "Soft" } }, frames: [{ id: "frame_1", title: "All", x: 0, y: 0, width: 9, height: 9 }],
        notes: [], wires: { "save.image": { points: [[1, 2], [3, 4]] } },
      },
      "x-own": { "9": 1, a: 2 },
    },
  );
}

type Dice = (below: number) => number;

/** One edit of any kind, chosen by the dice, in any scope. */
function chosen(document: WorkflowDocument, dice: Dice): Edit {
  const pick = <T,>(list: readonly T[], none: T): T => list[dice(Math.max(1, list.length))] ?? none;
  const scope = pick(["", "", ...Object.keys(document.subgraphs ?? {})], "");
  const found: Scope = scope === "" ? document : (document.subgraphs?.[scope] as Scope);
  const ids = Object.keys(found.nodes);
  const id = pick(ids, "none"), other = pick(ids, "none"), some = ids.filter(() => dice(3) === 0);
  const port = pick(portsOf(document, scope, catalogue, id).inputs, { name: "image" } as never).name;
  const out = pick(portsOf(document, scope, catalogue, other).outputs, { name: "image" } as never).name;
  const wires = linksOf(found), wire = pick(wires, { from: "a.b", to: "c.d" });
  const input = pick(Object.keys(found.inputs ?? {}), "none"), output = pick(Object.keys(found.outputs ?? {}), "none");
  const frames = (found.view?.frames ?? []).map((frame) => frame.id), notes = (found.view?.notes ?? []).map((note) => note.id);
  const items = [...some, ...frames.filter(() => dice(4) === 0).map((frame) => `frame:${frame}`), ...notes.filter(() => dice(4) === 0).map((note) => `note:${note}`)];
  const value = pick<Json>([1, 0.5, "a", "", true, null, { random: true }, [1, 2], { sha256: "f".repeat(64) }], 1);
  const name = pick(["alpha", "beta", "constructor", "image", "Not a name"], "alpha");
  const at = { x: dice(2_000) - 1_000.4, y: dice(2_000) - 999.5 };
  const box = { x: 1.5, y: at.y, width: 100.2, height: 50 };
  const types = [...catalogue.types.keys(), "pack/missing", "#nothing", "#leaf"];
  const all: (() => Edit)[] = [
    () => edits.addNode(scope, edits.freshId(found, pick(types, "text")), { type: pick(types.filter((type) => type !== "#leaf" || scope === ""), "text"), inputs: {} }, at),
    () => edits.addNode(scope, edits.freshId(found, "blur"), { type: "blur", inputs: {} }, at),
    () => edits.removeItems(scope, items.slice(0, 2)),
    () => edits.removeItems(scope, [id], { heal: catalogue }),
    () => edits.setInput(scope, id, port, dice(4) === 0 ? undefined : value),
    () => (judge(document, scope, catalogue, `${other}.${out}`, `${id}.${port}`).ok ? edits.connect(scope, `${other}.${out}`, `${id}.${port}`) : (same) => same),
    () => edits.disconnect(scope, wire.to),
    () => edits.setNodeState(scope, some, pick(["muted", "bypassed", null] as const, null)),
    () => edits.moveItems(scope, Object.fromEntries(items.map((item) => [item, { x: at.x + dice(9), y: at.y }]))),
    () => edits.resizeItem(scope, pick(items, id), box),
    () => edits.setNodeView(scope, some, { title: pick(["", "Title"], ""), color: pick(["red", ""], ""), collapsed: dice(2) === 0 }),
    () => edits.insertOnWire(scope, id, wire.to, { into: port, out: "image" }),
    () => edits.renameNode(scope, id, pick([name, edits.freshId(found, name)], name)),
    () => edits.addFrame(scope, { id: edits.freshBoxId(found, "frames"), title: "", ...box }),
    () => edits.setFrame(scope, pick(frames, "none"), { title: "T", color: pick(["red", ""], "") }),
    () => edits.addNote(scope, { id: edits.freshBoxId(found, "notes"), text: "say", ...box }),
    () => edits.setNote(scope, pick(notes, "none"), { text: pick(["", "more"], "") }),
    () => edits.setWirePoints(scope, wire.to, dice(2) === 0 ? [] : [[at.x, at.y]]),
    () => edits.nameInput(scope, name, { to: dice(2) === 0 ? `${id}.${port}` : [`${id}.${port}`, `${other}.x`], label: pick(["", "Label"], "") }),
    () => edits.renameInput(scope, input, name),
    () => edits.removeInput(scope, input),
    () => edits.nameOutput(scope, name, { from: `${other}.${out}` }),
    () => edits.renameOutput(scope, output, name),
    () => edits.removeOutput(scope, output),
    () => edits.setDocumentFacts({ name: pick(["", "n", "first"], ""), description: pick(["", "d"], "") }),
    () => pasteFragment(scope, copyFragment(document, pick(["", scope], ""), items), at, { withLinks: dice(2) === 0 }).edit,
    () => makeSubgraph(scope, items, name),
    () => unpack(scope, pick(ids.filter((one) => found.nodes[one]?.type.startsWith("#")), "none")),
    () => removeSubgraph(pick(Object.keys(document.subgraphs ?? {}), "none")),
    () => edits.moveItems(scope, align(some.map((item) => ({ id: item, x: dice(99), y: dice(99), width: 10, height: 20 })), "right")),
  ];
  return (all[dice(all.length)] as () => Edit)();
}

/** References of a scope lead to nodes that are there; ports of instances and of the interface too. */
function isWhole(document: WorkflowDocument): boolean {
  return [document as Scope, ...Object.values(document.subgraphs ?? {})].every((scope) => {
    const isThere = (reference: string): boolean => Object.hasOwn(scope.nodes, split(reference).node);
    const wired = Object.keys(scope.view?.wires ?? {}).every((to) => isThere(to) && isLink(scope.nodes[split(to).node]?.inputs[split(to).port]));
    const shown = Object.keys(scope.view?.nodes ?? {}).every((id) => Object.hasOwn(scope.nodes, id));
    const named = Object.values(scope.outputs ?? {}).every((output) => isThere(output.from)) && Object.values(scope.inputs ?? {}).flatMap(targets).every(isThere);
    return linksOf(scope).every((wire) => isThere(wire.from)) && wired && shown && named;
  });
}

function read(text: string): WorkflowDocument {
  const found = readDocument(text);
  if ("flaws" in found) throw new Error(found.flaws.map((flaw) => flaw.message).join("\n"));
  return found.document;
}

describe("200 random edits", () => {
  it("are undone to the first document and redone to the last, byte for byte", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (stream) => {
        const dice: Dice = (below) => (stream.next().value as number) % below;
        const start = first(), text = writeDocument(start);
        let history: History = begin(start);
        for (let count = 0; count < 200; count += 1) {
          const edit = chosen(history.document, dice);
          history = applied(history, "edit", edit, dice(4) === 0 ? "gesture" : null);
          frozen(history.document);
        }
        const last = writeDocument(history.document);
        const steps = history.past.length;
        while (history.past.length > 0) history = undone(history);
        expect(history.document).toBe(start);
        expect(writeDocument(history.document)).toBe(text);
        while (history.future.length > 0) history = redone(history);
        expect(history.past.length).toBe(steps);
        expect(writeDocument(history.document)).toBe(last);
      }),
      { numRuns: 25, seed: 4 },
    );
  }, 60_000);

  it("give documents that are whole, are read as they are written, and differ from none that reads alike", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (stream) => {
        const dice: Dice = (below) => (stream.next().value as number) % below;
        let document = read(writeDocument(first()));
        for (let count = 0; count < 60; count += 1) {
          document = frozen(chosen(document, dice)(document));
          expect(isWhole(document)).toBe(true);
          const text = writeDocument(document), again = read(text);
          expect(writeDocument(again)).toBe(text);
          expect(differences(document, again)).toEqual([]);
        }
      }),
      { numRuns: 12, seed: 5 },
    );
  }, 60_000);
});
