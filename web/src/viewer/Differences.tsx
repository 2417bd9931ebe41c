/** The inputs in which two runs differ, as a table: where, in the one, in the other. */

import type { ReactNode } from "react";

import type { Output } from "../api/results";
import type { Difference } from "../model/diff";
import { type Json, isFile, isLink, isRandom } from "../model/document";
import { useTexts } from "../texts";
import styles from "./viewer.module.css";

interface Props {
  readonly a: Output;
  readonly b: Output;
  /** null while it is not known. */
  readonly found: readonly Difference[] | null;
}

export function Differences({ a, b, found }: Props): ReactNode {
  const t = useTexts();
  if (found === null) return <p>{t("gallery.loading")}</p>;
  const rows = found.filter((one) => one.what !== "view" && one.what !== "fact");
  const isSeedThere = rows.some((one) => one.port === "seed");
  const drawn = !isSeedThere && a.seed !== b.seed;
  if (rows.length === 0 && !drawn) return <p>{t("gallery.same_inputs")}</p>;
  return (
    <table className={styles["table"]}>
      <thead><tr><th scope="col">{t("gallery.input")}</th><th scope="col">A</th><th scope="col">B</th></tr></thead>
      <tbody>
        {drawn && <Row where={t("gallery.seed")} before={a.seed ?? undefined} after={b.seed ?? undefined} />}
        {rows.map((one) => <Row key={one.path} where={whereOf(one)} before={one.before} after={one.after} />)}
      </tbody>
    </table>
  );
}

function whereOf({ scope, node, port, path }: Difference): string {
  const inside = node === undefined ? path : port === undefined ? node : `${node}.${port}`;
  return scope === "" || node === undefined ? inside : `${scope}/${inside}`;
}

function Row({ where, before, after }: { readonly where: string; readonly before: Json | undefined; readonly after: Json | undefined }): ReactNode {
  return <tr><th scope="row">{where}</th><td>{shown(before)}</td><td>{shown(after)}</td></tr>;
}

function shown(value: Json | undefined): string {
  if (value === undefined) return "–";
  if (isLink(value)) return `← ${value.link}`;
  if (isFile(value)) return value.file ?? value.sha256.slice(0, 12);
  if (isRandom(value)) return "random";
  return typeof value === "string" ? value : JSON.stringify(value);
}
