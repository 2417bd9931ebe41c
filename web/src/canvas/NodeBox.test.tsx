// @vitest-environment happy-dom

import { act, cleanup, render, screen } from "@testing-library/react";
import type { NodeProps } from "@xyflow/react";
import { Profiler, type ReactNode, memo } from "react";
import { afterEach, beforeEach, expect, it } from "vitest";

import { setNodeView } from "../model/edit";
import { useCatalogue } from "../state/catalogue";
import { useDocuments } from "../state/documents";
import { applyEvents } from "../state/run_events";
import { changeMemory, takeEvents, useRuns } from "../state/runs";
import { json, openAlone, serve } from "../state/testing";
import { type FlowNode, flowNodeOf } from "./flow";
import { keepScene } from "./linking";
import { NodeBox } from "./NodeBox";
import { sceneOf } from "./scene";
import { CATALOGUE, documentOf } from "./testing";

const COUNT = 40;
const document = documentOf(Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [
  `blur${at}`, { type: "blur", inputs: at === 0 ? {} : { image: { link: `blur${at - 1}.image` } } },
])));
const ids = Object.keys(document.nodes);
const commits: string[] = [];

/** A node as xyflow shows it. A profiler also tells when its parent renders; this one's parent never does. */
const Profiled = memo(function Profiled({ node }: { readonly node: FlowNode }): ReactNode {
  return (
    <Profiler id={node.id} onRender={(id) => commits.push(id)}>
      <NodeBox {...(node as unknown as NodeProps<FlowNode>)} />{/* of its properties the data and the selection are used */}
    </Profiler>
  );
});

function Nodes(): ReactNode {
  const shown = useDocuments((state) => state.open[0]?.history.document);
  if (shown === undefined) return null;
  last = sceneOf(shown, "", CATALOGUE, last);
  keepScene(last);
  return [...last.items.values()].map((item) => <Profiled key={item.id} node={flowNodeOf(item, false)} />);
}
let last: ReturnType<typeof sceneOf> | undefined;

beforeEach(() => {
  localStorage.clear();
  serve(() => json({}, 404));
  useCatalogue.setState({ catalogue: CATALOGUE });
  const draft = openAlone(document);
  useRuns.setState({ documents: new Map([["j", document]]), runs: new Map([["j", applyEvents(undefined, "j", [])]]) });
  changeMemory(draft, (memory) => ({ ...memory, jobs: [{ id: "j", batch: "b", set: {} }] }));
  const nodes = ids.map((id, at) => ({ id, type: "blur", state: at === 7 ? "running" : at < 7 ? "done" : "waiting" }));
  takeEvents([{ event: "snapshot", stream: "j", state: "running", seeds: {}, nodes }]);
  render(<Nodes />);
  commits.length = 0;
});
afterEach(cleanup);

it("one progress message commits the one node that it names, however many are there", () => {
  act(() => takeEvents([{ event: "progress", stream: "j", node: "blur7", step: 3, total: 20, eta_seconds: 4 }]));
  expect(commits).toEqual(["blur7"]);
  expect(screen.getByText("3 of 20")).toBeTruthy();
});

it("messages that came in one frame commit each node they name once", () => {
  act(() => takeEvents([1, 2, 3].map((step) => ({ event: "progress", stream: "j", node: "blur7", step, total: 20, eta_seconds: 4 }))));
  expect(commits).toEqual(["blur7"]);
});

it("a node that is done and the one that begins are all that is committed", () => {
  act(() => takeEvents([
    { event: "node", stream: "j", seq: 1, node: "blur7", state: "done", seconds: 1 }, { event: "node", stream: "j", seq: 2, node: "blur8", state: "running" },
  ]));
  expect([...new Set(commits)].sort()).toEqual(["blur7", "blur8"]);
});

it("an edit of one node commits that node alone", () => {
  act(() => useDocuments.getState().apply("titled", setNodeView("", ["blur3"], { title: "Mine" })));
  expect([...new Set(commits)]).toEqual(["blur3"]);
});

it("a node of five ports has at most 45 elements", () => {
  const boxes = [...window.document.querySelectorAll("[data-node]")];
  expect(boxes).toHaveLength(COUNT);
  expect(Math.max(...boxes.map((box) => box.querySelectorAll("*").length))).toBeLessThanOrEqual(45);
});
