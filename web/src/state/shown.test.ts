import { expect, test } from "vitest";

import type { NodeRow } from "../api/jobs";
import { marksOf } from "./shown";

function rows(states: { readonly [path: string]: NodeRow["state"] }): ReadonlyMap<string, NodeRow> {
  return new Map(Object.entries(states).map(([id, state]) => [id, { id, type: "number", state }]));
}

test("nodes that run or have failed are marked, others and those that were edited since are not", () => {
  const found = rows({ a: "done", b: "running", c: "failed", d: "waiting", e: "failed" });
  expect(marksOf(found, new Set(["e"]), [])).toBe("running b\nfailed c");
});

test("an instance is marked for the nodes inside it, first of all for what failed", () => {
  const found = rows({ "s/a": "failed", "s/b": "running", "s/t/a": "running", x: "running" });
  expect(marksOf(found, new Set(), [])).toBe("failed s\nrunning x");
  expect(marksOf(found, new Set(), ["s"])).toBe("failed a\nrunning b\nrunning t");
});
