/** Below a node: the picture it made in the last run, small. Pressed, it opens large. */

import { useEffect, useState, useSyncExternalStore } from "react";

import { listOutputs, outputThumbnailUrl } from "../api/client";
import { addressOf, readValue } from "../api/jobs";
import type { Output } from "../api/results";
import type { PicturePort } from "../model/measure";
import { useDocuments } from "../state/documents";
import { usePictureAge, usePictureJob } from "../state/pictures";
import { usePreferences } from "../state/preferences";
import { useHasPreview } from "../state/previews";
import { useHasUnfinished, useShown } from "../state/shown";
import { sourceOf } from "../state/targets";
import { useTexts } from "../texts";
import type { NodeItem } from "./flow";
import { currentScene, watchScene } from "./linking";
import styles from "./NodePicture.module.css";
import { roomUnder } from "./scene";

/** Its largest height; selected it has that over whatever lies below. */
const MOST = 200;
/** With less room it waits until the node is selected. */
const LEAST = 36;
const GAP = 8;

interface Props {
  readonly item: NodeItem;
  /** Run id of the node. */
  readonly path: string;
  readonly picture: PicturePort;
  readonly isSelected: boolean;
}

export function NodePicture({ item, path, picture, isSelected }: Props): React.ReactNode {
  const isWanted = usePreferences((state) => state.results);
  const isPreviewed = useIsPreviewed(path);
  const source = useSource(path, picture.port);
  const job = usePictureJob(source?.path ?? path);
  const room = useRoom(item);
  const height = isSelected ? MOST : room - 2 * GAP;
  if (!isWanted || isPreviewed || job === null || source === null || height < LEAST) return null;
  return picture.isSaved
    ? <Saved job={job} path={source.path} port={source.port} height={height} />
    : <Held job={job} path={source.path} port={source.port} height={height} />;
}

/** Its live preview has the place. */
function useIsPreviewed(path: string): boolean {
  const job = useShown((state) => state.job) ?? "";
  const isWanted = usePreferences((state) => state.previews);
  const isThere = useHasPreview(job, path);
  return useHasUnfinished(path) && isWanted && isThere;
}

function useRoom(item: NodeItem): number {
  return useSyncExternalStore(watchScene, () => {
    const scene = currentScene();
    const now = scene?.items.get(item.id); // where it is dragged to
    return scene === null ? 0 : roomUnder(scene, now?.kind === "node" ? now : item, MOST + 2 * GAP);
  });
}

/** Inside an instance of a subgraph another node gives the output. */
function useSource(path: string, port: string): { readonly path: string; readonly port: string } | null {
  const found = useDocuments((state) => {
    const document = state.open.find((one) => one.id === state.active)?.history.document;
    const source = document === undefined ? null : sourceOf(document, path, port);
    return source === null ? null : `${source.path}.${source.port}`;
  });
  if (found === null) return null;
  const dot = found.lastIndexOf(".");
  return { path: found.slice(0, dot), port: found.slice(dot + 1) };
}

interface PlaceProps {
  readonly job: string;
  readonly path: string;
  readonly port: string;
  readonly height: number;
}

function Held({ job, path, port, height }: PlaceProps): React.ReactNode {
  const count = useCount(job, path);
  const place = { job, node: path, port, index: 0, element: count === null ? null : 0 };
  const name = `${path}.${port}`;
  return (
    <Shown
      job={job} path={path} url={addressOf(place, "webp")} count={count} height={height}
      onOpen={() => void import("../viewer/Viewer").then(({ openPicture }) => openPicture(addressOf(place, "png"), name))}
    />
  );
}

function Saved({ job, path, port, height }: PlaceProps): React.ReactNode {
  const count = useCount(job, path);
  const output = useOutput(job, path, port, count);
  if (output === null) return null;
  return (
    <Shown
      job={job} path={path} url={outputThumbnailUrl(output.id, 512)} count={count} height={height}
      onOpen={() => void import("../viewer/Viewer").then(({ openOutput }) => openOutput(output))}
    />
  );
}

/** Of a mapped node, how often it ran. */
function useCount(job: string, path: string): number | null {
  return useShown((state) => (state.job === job ? (state.run?.rows.get(path)?.elements?.["total"] ?? null) : null));
}

/** The entry of the gallery that a node wrote in a job; the one before stays until it is known. */
function useOutput(job: string, node: string, port: string, count: number | null): Output | null {
  const [found, setFound] = useState<Output | null>(null);
  const element = count === null ? null : 0;
  useEffect(() => {
    const abort = new AbortController();
    Promise.all([readValue({ job, node, port, index: 0, element }, abort.signal), listOutputs({ job, limit: 200 })]).then(
      ([value, page]) => {
        if (!abort.signal.aborted) setFound(page.outputs.find((one) => "value" in value && one.file === value.value) ?? null);
      },
      () => { if (!abort.signal.aborted) setFound(null); }, // gone, or nothing was written: there is no picture
    );
    return () => abort.abort();
  }, [job, node, port, element]);
  return found;
}

interface ShownProps {
  readonly job: string;
  readonly path: string;
  readonly url: string;
  readonly count: number | null;
  readonly height: number;
  onOpen(): void;
}

function Shown({ job, path, url, count, height, onOpen }: ShownProps): React.ReactNode {
  const t = useTexts();
  const age = usePictureAge(path, job);
  const [broken, setBroken] = useState<string | null>(null);
  if (broken === url) return null;
  const said = age === "old" ? t("run.result_old") : age === "before" ? t("run.result_before") : "";
  const many = count !== null && count > 1 ? t("run.result_many", { count }) : "";
  const note = [said, many].filter(Boolean).join(" · ");
  const name = [t("run.result_of", { node: path }), note].filter(Boolean).join(", ");
  return (
    <button type="button" className={`${styles["picture"]} nodrag nopan`} data-picture={path} data-age={age} aria-label={name} title={name} onClick={onOpen}>
      <img src={url} alt="" loading="lazy" decoding="async" draggable={false} style={{ maxHeight: height }} onError={() => setBroken(url)} />
      {note !== "" && <span className={styles["note"]}>{note}</span>}
    </button>
  );
}
