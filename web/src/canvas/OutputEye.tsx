/** A small eye beside an output: what it held in the run that is shown, in place. Nothing is computed or published. */

import { useState } from "react";

import { useShown } from "../state/shown";
import { isFinal } from "../state/run_events";
import { useTexts } from "../texts";
import { Popover } from "../ui/Popover";
import styles from "./OutputEye.module.css";
import { ValueView } from "./ValueView";

export function OutputEye({ path, port }: { readonly path: string; readonly port: string }): React.ReactNode {
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
        aria-expanded={anchor !== null}
        onClick={(event) => setAnchor(event.currentTarget)}
      >
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
          <path d="M1 8c2-3.3 4.3-5 7-5s5 1.7 7 5c-2 3.3-4.3 5-7 5S3 11.3 1 8Z" fill="none" stroke="currentColor" strokeWidth="1.4" />
          <circle cx="8" cy="8" r="2.2" fill="currentColor" />
        </svg>
      </button>
      {anchor !== null && (
        <Popover anchor={anchor} label={t("run.look", { port })} onClose={() => setAnchor(null)}>
          <ValueView job={job} node={path} port={port} elements={elements} />
        </Popover>
      )}
    </>
  );
}
