/** One node: what it is called, what it is, each of its inputs with what it takes, where its outputs go. */

import type { ReactNode } from "react";

import { enterInstance } from "../../commands/enter_subgraph";
import { type Here, apply } from "../../commands/here";
import { renameId } from "../../commands/rename";
import { NAME } from "../../model/document";
import { setNodeView } from "../../model/edit";
import { portsOf } from "../../model/ports";
import { nodeViewOf } from "../../model/view";
import { unwrapped } from "../../palette/types";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/Prose";
import styles from "./Inspector.module.css";
import { Interface } from "./Interface";
import { ColourChoice, StateChoice } from "./Looks";
import { InputRow, OutputRow } from "./PortRows";

interface Props {
  readonly at: Here;
  readonly id: string;
}

export function NodeFacts({ at, id }: Props): ReactNode {
  const t = useTexts();
  const node = at.scope.nodes[id];
  if (node === undefined) return null;
  const { type, inputs, outputs } = portsOf(at.document, at.scopeId, at.catalogue, id);
  const view = nodeViewOf(at.scope, id);
  const subgraph = node.type.startsWith("#") && at.document.subgraphs?.[node.type.slice(1)] !== undefined ? node.type.slice(1) : null;
  return (
    <>
      <section className={styles["section"]}>
        <TextField
          label={t("edit.title")} value={view.title ?? ""} placeholder={type?.title ?? node.type}
          onChange={(title, session) => apply("edit.rename", setNodeView(at.scopeId, [id], { title }), session)}
        />
        <TextField
          label={t("inspector.id")} value={id} isMono hint={t("inspector.id_hint")}
          check={(wanted) => checkId(t, at, wanted)} onChange={(wanted) => renameId(at.scopeId, id, wanted)}
        />
        <StateChoice at={at} />
        <ColourChoice now={[view.color]} />
      </section>
      <TypeFacts at={at} id={id} />
      {subgraph !== null && (
        <section className={styles["section"]}>
          <h3>{t("inspector.subgraph", { name: subgraph })}</h3>
          <div className={styles["buttons"]}>
            <Button onClick={() => enterInstance(id)}><Icon name="subgraph" size={16} /> {t("edit.enter_subgraph")}</Button>
          </div>
          <Interface at={at} scopeId={subgraph} part="inputs" />
          <Interface at={at} scopeId={subgraph} part="outputs" />
        </section>
      )}
      <section className={styles["section"]}>
        <h3>{t("palette.inputs")}</h3>
        {inputs.length === 0 && <p className={styles["hint"]}>{t("inspector.no_inputs")}</p>}
        <ul className={styles["rows"]}>{inputs.map((port) => <InputRow key={port.name} at={at} id={id} port={port} />)}</ul>
      </section>
      <section className={styles["section"]}>
        <h3>{t("palette.outputs")}</h3>
        {outputs.length === 0 && <p className={styles["hint"]}>{t("inspector.no_outputs")}</p>}
        <ul className={styles["rows"]}>{outputs.map((port) => <OutputRow key={port.name} at={at} id={id} port={port} />)}</ul>
      </section>
    </>
  );
}

/** What the node's type is; of one that is not installed, that its values are kept. */
function TypeFacts({ at, id }: Props): ReactNode {
  const t = useTexts();
  const node = at.scope.nodes[id];
  const { type } = portsOf(at.document, at.scopeId, at.catalogue, id);
  if (node === undefined) return null;
  const saved = node.type_version;
  return (
    <section className={styles["section"]}>
      <dl className={styles["facts"]}>
        <dt>{t("inspector.type")}</dt><dd><code>{node.type}</code></dd>
        {type?.pack != null && <><dt>{t("inspector.pack")}</dt><dd>{type.pack}</dd></>}
        {type !== undefined && type.category !== "" && <><dt>{t("inspector.category")}</dt><dd>{type.category}</dd></>}
        {type !== undefined && !node.type.startsWith("#") && (
          <>
            <dt>{t("inspector.version")}</dt>
            <dd>{type.version}{saved !== undefined && saved !== type.version && <> ({t("inspector.saved_with", { version: saved })})</>}</dd>
          </>
        )}
        {type?.effect === true && <><dt>{t("inspector.runs")}</dt><dd>{t("inspector.always")}</dd></>}
      </dl>
      {type === undefined ? <p className={styles["missing"]}>{t("inspector.type_missing", { type: node.type })}</p> : type.doc !== "" && <p className={styles["doc"]}><Prose text={unwrapped(type.doc)} /></p>}
    </section>
  );
}

/** Why the id cannot be had; undefined: it can. */
function checkId(t: ReturnType<typeof useTexts>, at: Here, wanted: string): string | undefined {
  if (!NAME.test(wanted)) return t("inspector.bad_name", { name: wanted });
  return Object.hasOwn(at.scope.nodes, wanted) ? t("inspector.taken", { name: wanted }) : undefined;
}
