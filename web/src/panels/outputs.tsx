/** Choosing one output of the selected node, and dialogs that commands open. */


import type { WorkflowDocument } from "../model/document";
import { useCatalogue } from "../state/catalogue";
import { activeDocument } from "../state/documents";
import { selectedPaths } from "../state/selected";
import { useShown } from "../state/shown";
import { nodeAt } from "../state/stale";
import { definitionOf, sourceOf } from "../state/targets";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, closeDialog, showDialog } from "../ui/dialogs";
import { later } from "../ui/later";

const SweepDialog = later(async () => ({ default: (await import("./sweep/SweepDialog")).SweepDialog }));
const ValueView = later(async () => ({ default: (await import("../canvas/ValueView")).ValueView }));

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
  const takeSource = (port: string): void => {
    const source = sourceOf(document, path, port);
    if (source !== null) take(source.path, source.port);
  };
  const [first] = outputs;
  if (outputs.length === 1 && first !== undefined) takeSource(first);
  else showDialog(<Which outputs={outputs} take={takeSource} />);
}

function outputNames(document: WorkflowDocument, type: string): string[] {
  const scope = definitionOf(document, type);
  if (scope !== null) return Object.keys(scope.outputs ?? {});
  return (useCatalogue.getState().catalogue.types.get(type)?.outputs ?? []).map((output) => output.name);
}

function Which({ outputs, take }: { readonly outputs: readonly string[]; take(port: string): void }): React.ReactNode {
  const t = useTexts();
  return (
    <Dialog title={t("run.run_output_which")} size="s">
      {outputs.map((port) => (
        <Button key={port} onClick={() => { closeDialog(); take(port); }}>{port}</Button>
      ))}
    </Dialog>
  );
}
