/** The picture of a node's unfinished result, until the run has ended and its results can be looked at. Later pictures go into the `<img>` without React. */

import { useEffect, useRef } from "react";

import { usePreferences } from "../state/preferences";
import { attachPreview, useHasPreview } from "../state/previews";
import { useHasUnfinished, useShown } from "../state/shown";
import { useTexts } from "../texts";
import styles from "./NodePreview.module.css";

export function NodePreview({ path }: { readonly path: string }): React.ReactNode {
  const job = useShown((state) => state.job) ?? "";
  const isWanted = usePreferences((state) => state.previews);
  const isUnfinished = useHasUnfinished(path);
  const isThere = useHasPreview(job, path);
  return isWanted && isUnfinished && isThere ? <Picture job={job} path={path} /> : null;
}

function Picture({ job, path }: { readonly job: string; readonly path: string }): React.ReactNode {
  const t = useTexts();
  const image = useRef<HTMLImageElement>(null);
  useEffect(() => (image.current === null ? undefined : attachPreview(job, path, image.current)), [job, path]);
  return <img ref={image} className={styles["preview"]} alt={t("run.node_preview", { node: path })} draggable={false} />;
}
