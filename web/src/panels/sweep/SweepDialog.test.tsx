// @vitest-environment happy-dom

/** Two inputs with one label are two: either can be swept over, or both. */

import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import type { NodeType } from "../../model/catalogue";
import type { WorkflowDocument } from "../../model/document";
import { useCatalogue } from "../../state/catalogue";
import { useDocuments } from "../../state/documents";
import { SweepDialog } from "./SweepDialog";

const port = (name: string): object => ({ name, type: "int", optional: false, doc: "", was: [] });
const TYPE = { id: "n", inputs: [port("a"), port("b")], outputs: [], was: [] } as unknown as NodeType; // the rest plays no part
const DOCUMENT: WorkflowDocument = {
  $schema: "s", format: "latentgraph/workflow", version: "1.0", nodes: { n: { type: "n", inputs: { a: 1, b: 2 } } },
  inputs: { first: { to: "n.a", label: "Steps" }, second: { to: "n.b", label: "Steps" } },
};

it("offers the second of two inputs with one label, beside the first and alone", () => {
  useCatalogue.setState(({ catalogue }) => ({ catalogue: { ...catalogue, types: new Map([["n", TYPE]]) } }));
  useDocuments.setState({ open: [], active: "" });
  useDocuments.getState().add(DOCUMENT);
  render(<SweepDialog />);
  const [first, second] = screen.getAllByRole("combobox", { hidden: true }) as HTMLSelectElement[];
  expect([...(second?.options ?? [])].map((option) => option.value)).toEqual(["", "n.b"]);
  if (first !== undefined) fireEvent.change(first, { target: { value: "n.b" } });
  expect(screen.getAllByRole("textbox", { hidden: true }).map((box) => (box as HTMLTextAreaElement).value)).toEqual(["2"]);
});
