/** Choosing one output of the selected node, and dialogs that commands open. */

import { lazy } from "react";

import { useCatalogue } from "../state/catalogue";
import { activeDocument } from "../state/documents";
import { selectedPaths } from "../state/selected";
import { useShown } from "../state/shown";
import { nodeAt } from "../state/stale";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, closeDialog, showDialog } from "../ui/dialogs";

const SweepDialog = lazy(() => import("./sweep/SweepDialog").then((module) => ({ default: module.SweepDialog })));
const ValueView = lazy(() => import("../canvas/ValueView").then((module) => ({ default: module.ValueView })));

export function showSweepDialog(): void {
  showDialog(<SweepDialog />);
}

/** Show in a dialog what an output held in the run that is shown. */
export function showValue(path: string, port: string): void {
  const { job, run } = useShown.getState();
  if (job === null) return;
  const elements = run?.rows.get(path)?.elements?.["total"] ?? null;
  showDialog(
    <Dialog title={`${path}.${port}`}>
      <ValueView job={job} node={path} port={port} elements={elements} />
    </Dialog>,
  );
}

/** Take the only output of the selected node, or ask which. */
export function chooseOutput(take: (path: string, port: string) => void): void {
  const path = selectedPaths()[0];
  const document = activeDocument()?.history.document;
  const found = path === undefined || document === undefined ? null : nodeAt(document, path);
  if (path === undefined || document === undefined || found === null) return;
  const outputs = outputNames(document, found.node.type);
  const [first] = outputs;
  if (outputs.length === 1 && first !== undefined) take(path, first);
  else showDialog(<Which path={path} outputs={outputs} take={take} />);
}

function outputNames(document: NonNullable<ReturnType<typeof activeDocument>>["history"]["document"], type: string): string[] {
  if (type.startsWith("#")) return Object.keys(document.subgraphs?.[type.slice(1)]?.outputs ?? {});
  return (useCatalogue.getState().catalogue.types.get(type)?.outputs ?? []).map((output) => output.name);
}

function Which({ path, outputs, take }: { path: string; outputs: readonly string[]; take(path: string, port: string): void }): React.ReactNode {
  const t = useTexts();
  return (
    <Dialog title={t("run.run_output_which")} size="s">
      {outputs.map((port) => (
        <Button key={port} onClick={() => { closeDialog(); take(path, port); }}>{port}</Button>
      ))}
    </Dialog>
  );
}
