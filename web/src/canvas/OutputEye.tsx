/** A small eye beside an output: what it held in the run that is shown, in place. Nothing is computed or published. */

import { Suspense, useState } from "react";

import { split } from "../model/document";
import { useDocuments } from "../state/documents";
import { sourceOf } from "../state/targets";
import { useShown } from "../state/shown";
import { isFinal } from "../state/run_events";
import { useTexts } from "../texts";
import { later } from "../ui/later";
import { Popover } from "../ui/Popover";
import styles from "./OutputEye.module.css";

const ValueView = later(async () => ({ default: (await import("./ValueView")).ValueView }));

interface Props {
  /** Run id of the node. */
  readonly path: string;
  readonly port: string;
}

export function OutputEye({ path: given, port: name }: Props): React.ReactNode {
  const source = useDocuments((state) => {
    const document = state.open.find((one) => one.id === state.active)?.history.document;
    const found = document === undefined ? null : sourceOf(document, given, name);
    return found === null ? null : `${found.path}.${found.port}`;
  });
  if (source === null) return null;
  const { node: path, port } = split(source);
  return <Eye path={path} port={port} />;
}

function Eye({ path, port }: Props): React.ReactNode {
  const t = useTexts();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const canLook = useShown((state) => {
    const row = state.stale === null || state.stale.has(path) ? undefined : state.run?.rows.get(path);
    return row !== undefined && state.run !== undefined && isFinal(state.run.state) && (row.state === "done" || row.state === "cached");
  });
  const elements = useShown((state) => state.run?.rows.get(path)?.elements?.["total"] ?? null);
  const job = useShown((state) => state.job);
  if (!canLook || job === null) return null;
  return (
    <>
      <button
        type="button"
        className={`${styles["eye"]} nodrag nopan`}
        aria-label={t("run.look", { port })}
        title={t("run.look", { port })}
        data-eye={port}
        aria-expanded={anchor !== null}
        onClick={(event) => setAnchor(event.currentTarget)}
      />
      {anchor !== null && (
        <Popover anchor={anchor} label={t("run.look", { port })} onClose={() => setAnchor(null)}>
          <Suspense><ValueView job={job} node={path} port={port} elements={elements} /></Suspense>
        </Popover>
      )}
    </>
  );
}
