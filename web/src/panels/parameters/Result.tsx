/** The named outputs of the newest run that has any: pictures large, texts and numbers as they are. */

import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";

import { listOutputs, outputUrl, sentence } from "../../api/client";
import type { Output } from "../../api/results";
import { NodePreview } from "../../canvas/NodePreview";
import { ValueView } from "../../canvas/ValueView";
import { type Json, isObject, split } from "../../model/document";
import { refreshGallery } from "../../state/gallery";
import { useDocument, useDocuments } from "../../state/documents";
import type { Run } from "../../state/run_events";
import { useShown } from "../../state/shown";
import { useTexts } from "../../texts";
import { openOutput } from "../../viewer/Viewer";
import styles from "./parameters.module.css";

/** `isShownAtEnd`: a run that ends while one looks brings its result into view. */
export function Result({ isShownAtEnd }: { readonly isShownAtEnd: boolean }): ReactNode {
  const t = useTexts();
  const document = useDocument();
  const { run, last } = useNewest();
  const made = useOutputsOf(last?.id ?? null);
  const element = useRef<HTMLDivElement>(null);
  useShownAtEnd(element, isShownAtEnd ? run : undefined);
  const running = run === undefined ? undefined : [...run.rows.values()].find((row) => row.state === "running");
  if (run?.state === "failed") return <p role="alert" className={styles["flaw"]}>{run.problem?.detail ?? t("parameters.failed")}</p>;
  return (
    <div ref={element} className={styles["result"]}>
      {running === undefined && last === undefined && isShownAtEnd && <p className={styles["here"]}>{t("parameters.result_here")}</p>}
      {running !== undefined && <NodePreview path={running.id} />}
      {last !== undefined && Object.entries(last.outputs).map(([name, value]) => (
        <figure key={name} className={last !== run ? styles["older"] : ""}>
          <figcaption>{document.outputs?.[name]?.label ?? name}</figcaption>
          <Value run={last} value={value} from={document.outputs?.[name]?.from} made={made} />
        </figure>
      ))}
      {last !== undefined && Object.entries(last.absent).map(([name, why]) => <p key={name} className={styles["note"]}>{name}: {why}</p>)}
    </div>
  );
}

/** Until a result has been asked for and drawn. */
const SETTLING_MS = 400;

interface ValueProps {
  readonly run: Run;
  readonly value: Json;
  readonly from: string | undefined;
  /** Null while they are not known. */
  readonly made: readonly Output[] | string | null;
}

function Value({ run, value, from, made }: ValueProps): ReactNode {
  const t = useTexts();
  const output = typeof made === "string" ? undefined : made?.find((one) => one.file === value);
  if (output?.kind === "image") {
    return (
      <button type="button" className={styles["picture"]} aria-label={t("gallery.open_large", { name: output.file })} onClick={() => openOutput(output)}>
        <img src={outputUrl(output.id)} alt={output.prompt ?? output.file} width={output.width ?? undefined} height={output.height ?? undefined} />
      </button>
    );
  }
  if (output?.kind === "video") return <video className={styles["video"]} src={outputUrl(output.id)} controls loop playsInline preload="metadata" aria-label={output.file} />;
  if (isObject(value) && from !== undefined) return <ValueView job={run.id} node={split(from).node} port={split(from).port} elements={null} />;
  if (typeof made === "string") return <p role="alert" className={styles["flaw"]}>{made}</p>;
  return <output className={styles["plain"]}>{typeof value === "string" ? value : JSON.stringify(value)}</output>;
}

/** The run that is shown, and the newest one of this tab that ended with results. */
function useNewest(): { readonly run: Run | undefined; readonly last: Run | undefined } {
  const draft = useDocuments((state) => state.active);
  const run = useShown((state) => state.run);
  const [kept, setKept] = useState<{ draft: string; run: Run }>();
  const isDone = run?.state === "done";
  useEffect(() => {
    if (!isDone || run === undefined) return;
    setKept({ draft, run });
    refreshGallery();
  }, [isDone, run, draft]);
  const last = isDone ? run : kept?.draft === draft ? kept.run : undefined;
  return { run, last };
}

function useShownAtEnd(element: RefObject<HTMLElement | null>, run: Run | undefined): void {
  const before = useRef(run?.state);
  useEffect(() => {
    const hasEnded = run?.state === "done" && before.current !== undefined && before.current !== "done";
    before.current = run?.state;
    if (!hasEnded) return;
    // When its picture has come, and so its height.
    const timer = setTimeout(() => element.current?.scrollIntoView({ behavior: "smooth", block: "end" }), SETTLING_MS);
    return () => clearTimeout(timer);
  }, [element, run?.state]);
}

/** What a job wrote to the gallery; the sentence of why that is not known. */
function useOutputsOf(job: string | null): readonly Output[] | string | null {
  const [found, setFound] = useState<readonly Output[] | string | null>(null);
  useEffect(() => {
    if (job === null) return setFound(null);
    let isCurrent = true;
    listOutputs({ job, limit: 200 }).then(
      (page) => { if (isCurrent) setFound(page.outputs); },
      (error: unknown) => { if (isCurrent) setFound(sentence(error)); },
    );
    return () => { isCurrent = false; };
  }, [job]);
  return found;
}
