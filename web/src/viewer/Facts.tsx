/** What an output was made with: size, seed, workflow, time, node, and its settings. */

import { type ReactNode, useEffect, useState } from "react";

import { readOutput, sentence } from "../api/client";
import type { Output, OutputDetails } from "../api/results";
import type { Json, JsonObject } from "../model/document";
import { copySeed, openItsWorkflow, takeAsInput } from "../panels/gallery/actions";
import { sizeText } from "../state/format";
import { useLanguage, useTexts } from "../texts";
import { Button } from "../ui/Button";
import { useClose } from "../ui/dialogs";
import { Icon } from "../ui/icons";
import { moment } from "./words";
import styles from "./viewer.module.css";

/** Settings that stand in rows of their own. */
const SHOWN = new Set(["prompt", "seed", "width", "height", "model", "created_at"]);

export function Facts({ output }: { readonly output: Output }): ReactNode {
  const t = useTexts();
  const language = useLanguage((state) => state.language);
  const { details, problem } = useDetails(output.id);
  const node = details?.run["node"];
  const close = useClose();
  return (
    <aside className={styles["facts"]} aria-label={t("gallery.facts")}>
      <div className={styles["deeds"]}>
        <Button kind="primary" onClick={() => void openItsWorkflow(output).then((done) => { if (done) close(); })}>
          <Icon name="workflows" /> {t("gallery.open_workflow")}
        </Button>
        <Button onClick={() => void takeAsInput(output).then((done) => { if (done) close(); })}>
          <Icon name="image" /> {t("gallery.use_as_input")}
        </Button>
      </div>
      {output.prompt !== null && <p className={styles["prompt"]}>{output.prompt}</p>}
      <dl>
        {output.seed !== null && (
          <Fact name={t("gallery.seed")}>
            <code>{output.seed}</code>
            <Button kind="quiet" label={t("gallery.copy_seed", { seed: output.seed })} onClick={() => void copySeed(output)}><Icon name="copy" size={16} /></Button>
          </Fact>
        )}
        {output.width !== null && output.height !== null && <Fact name={t("gallery.size")}>{output.width} × {output.height}</Fact>}
        {output.model !== null && <Fact name={t("gallery.model")}>{output.model}</Fact>}
        {details !== undefined && Object.entries(details.settings as JsonObject).filter(([name, value]) => !SHOWN.has(name) && value !== "").map(([name, value]) => (
          <Fact key={name} name={name}>{written(value)}</Fact>
        ))}
        <Fact name={t("gallery.workflow")}>{output.workflow || "–"}</Fact>
        {typeof node === "string" && <Fact name={t("gallery.node")}>{node}</Fact>}
        <Fact name={t("gallery.time")}><time dateTime={new Date(output.created * 1000).toISOString()}>{moment(output.created, language)}</time></Fact>
        <Fact name={t("gallery.file")}>{output.file}{details !== undefined && `, ${sizeText(details.size)}`}</Fact>
      </dl>
      {problem !== "" && <p role="alert">{problem}</p>}
    </aside>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return <div className={styles["fact"]}><dt>{name}</dt><dd>{children}</dd></div>;
}

function written(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function useDetails(id: string): { readonly details: OutputDetails | undefined; readonly problem: string } {
  const [found, setFound] = useState<{ id: string; details?: OutputDetails; problem: string }>({ id, problem: "" });
  useEffect(() => {
    let isCurrent = true;
    readOutput(id).then(
      (details) => { if (isCurrent) setFound({ id, details, problem: "" }); },
      (error: unknown) => { if (isCurrent) setFound({ id, problem: sentence(error) }); },
    );
    return () => { isCurrent = false; };
  }, [id]);
  return found.id === id ? { details: found.details, problem: found.problem } : { details: undefined, problem: "" };
}
