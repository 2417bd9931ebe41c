/** The named inputs or outputs of a scope: the workflow's form, or a subgraph's ports. Named, described, ordered, removed, added. */

import type { ReactNode } from "react";

import { type Here, apply } from "../../commands/here";
import { namableInputs, namableOutputs } from "../../commands/promoting";
import { NAME, type NamedInput, type NamedOutput, type ScopeId, scopeOf, targets } from "../../model/document";
import { freshPortName, nameInput, nameOutput, removeInput, removeOutput, renameInput, renameOutput } from "../../model/edit";
import { movePort } from "../../model/reorder";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import fields from "../../ui/Field.module.css";
import { Icon } from "../../ui/icons";
import styles from "./Inspector.module.css";

interface Props {
  readonly at: Here;
  /** The scope whose interface it is; not always the one that is shown. */
  readonly scopeId: ScopeId;
  readonly part: "inputs" | "outputs";
}

export function Interface({ at, scopeId, part }: Props): ReactNode {
  const t = useTexts();
  const scope = scopeOf(at.document, scopeId);
  const named: readonly (readonly [string, NamedInput | NamedOutput])[] = Object.entries(scope[part] ?? {});
  return (
    <>
      <h3>{t(part === "inputs" ? "inspector.named_inputs" : "inspector.named_outputs")}</h3>
      {named.length === 0 && <p className={styles["hint"]}>{t(part === "inputs" ? "inspector.no_named_inputs" : "inspector.no_named_outputs")}</p>}
      <ul className={styles["rows"]}>
        {named.map(([name, entry], index) => (
          <NamedPort key={name} at={at} scopeId={scopeId} part={part} name={name} entry={entry} isFirst={index === 0} isLast={index === named.length - 1} />
        ))}
      </ul>
      <Adder at={at} scopeId={scopeId} part={part} />
    </>
  );
}

interface NamedProps extends Props {
  readonly name: string;
  readonly entry: NamedInput | NamedOutput;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

function NamedPort({ at, scopeId, part, name, entry, isFirst, isLast }: NamedProps): ReactNode {
  const t = useTexts();
  const scope = scopeOf(at.document, scopeId);
  const check = (wanted: string): string | undefined => {
    if (!NAME.test(wanted)) return t("inspector.bad_name", { name: wanted });
    return Object.hasOwn(scope[part] ?? {}, wanted) ? t("inspector.taken", { name: wanted }) : undefined;
  };
  const relabel = (label: string, session: string): void => {
    const edit = "to" in entry ? nameInput(scopeId, name, { to: entry.to, label }) : nameOutput(scopeId, name, { from: entry.from, label });
    apply("inspector.label", edit, session);
  };
  const ends = "to" in entry ? targets(entry).join(", ") : entry.from;
  return (
    <li className={styles["port"]}>
      <div className={styles["pair"]}>
        <TextField
          label={t("inspector.name")} value={name} isMono check={check}
          onChange={(wanted) => apply("inspector.name", part === "inputs" ? renameInput(scopeId, name, wanted) : renameOutput(scopeId, name, wanted))}
        />
        <TextField label={t("inspector.label")} value={entry.label ?? ""} placeholder={name} onChange={relabel} />
      </div>
      <div className={styles["ends"]}>
        <span className={styles["hint"]}>{t(part === "inputs" ? "inspector.goes_to" : "inspector.comes_from", { ports: ends })}</span>
        <Button kind="quiet" className={styles["small"] ?? ""} label={t("inspector.move_up", { name })} disabled={isFirst} onClick={() => apply("inspector.order", movePort(scopeId, part, name, -1))}><Icon name="up" size={14} /></Button>
        <Button kind="quiet" className={styles["small"] ?? ""} label={t("inspector.move_down", { name })} disabled={isLast} onClick={() => apply("inspector.order", movePort(scopeId, part, name, 1))}><Icon name="down" size={14} /></Button>
        <Button kind="quiet" className={styles["small"] ?? ""} label={t("inspector.remove", { name })} onClick={() => apply("inspector.removed", part === "inputs" ? removeInput(scopeId, name) : removeOutput(scopeId, name))}><Icon name="trash" size={14} /></Button>
      </div>
    </li>
  );
}

function Adder({ at, scopeId, part }: Props): ReactNode {
  const t = useTexts();
  const scope = scopeOf(at.document, scopeId);
  const there: Here = { ...at, scopeId, scope };
  const ports = Object.keys(scope.nodes).flatMap((id) => (part === "inputs" ? namableInputs(there, id) : namableOutputs(there, id)));
  if (ports.length === 0) return null;
  const add = (port: string): void => {
    const name = freshPortName(scope, part, port.slice(port.indexOf(".") + 1));
    apply(part === "inputs" ? "edit.promote_input" : "edit.promote_output", part === "inputs" ? nameInput(scopeId, name, { to: port }) : nameOutput(scopeId, name, { from: port }));
  };
  const label = t(part === "inputs" ? "inspector.add_input" : "inspector.add_output");
  return (
    <select className={fields["input"]} aria-label={label} value="" onChange={(event) => add(event.target.value)}>
      <option value="" disabled>{label}</option>
      {ports.map((port) => <option key={port} value={port}>{port}</option>)}
    </select>
  );
}
