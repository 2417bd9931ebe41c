/** An input of a node with its value or link, and an output with where it goes. */

import type { ReactNode } from "react";

import { type Here, apply } from "../../commands/here";
import { namableInputs, namableOutputs, promoteInput, promoteOutput } from "../../commands/promoting";
import type { InputPort, OutputPort } from "../../model/catalogue";
import { type Json, isLink, split, targets } from "../../model/document";
import { disconnect, setInput } from "../../model/edit";
import { wiresFrom } from "../../model/graph";
import { takesValue } from "../../model/measure";
import { isRequired, valueOf } from "../../model/ports";
import { useDocuments } from "../../state/documents";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/Prose";
import { Widget } from "../../widgets/Widget";
import styles from "./Inspector.module.css";

interface InputProps {
  readonly at: Here;
  readonly id: string;
  readonly port: InputPort;
}

export function InputRow({ at, id, port }: InputProps): ReactNode {
  const t = useTexts();
  const node = at.scope.nodes[id];
  if (node === undefined) return null;
  const reference = `${id}.${port.name}`;
  const value = valueOf(node, port);
  const named = Object.entries(at.scope.inputs ?? {}).find(([, input]) => targets(input).includes(reference));
  const set = (next: Json | undefined, session: number): void => {
    apply("inspector.value", setInput(at.scopeId, id, port.name, next), `value ${id} ${port.name} ${session}`);
  };
  return (
    <li className={styles["row"]}>
      <div className={styles["name"]}>
        <span>{port.name}</span>
        <span className={styles["type"]}>{port.type}</span>
        {isRequired(port) && <span className={styles["required"]}>{t("inspector.required")}</span>}
      </div>
      {isLink(value) ? (
        <div className={styles["linked"]}>
          <Icon name="left" size={14} /><Go reference={value.link} />
          <Button kind="quiet" className={styles["small"] ?? ""} label={t("inspector.unlink", { port: reference })} onClick={() => apply("commands.remove_wire", disconnect(at.scopeId, reference))}>
            <Icon name="close" size={14} />
          </Button>
        </div>
      ) : takesValue(port) || port.hint != null ? (
        <div className={styles["value"]}><Widget port={port} value={value} label={port.name} onChange={set} /></div>
      ) : (
        <span className={styles["hint"]}>{port.optional ? t("inspector.not_linked") : t("inspector.to_link", { type: port.type })}</span>
      )}
      {port.doc !== "" && <span className={styles["hint"]}><Prose text={port.doc} /></span>}
      {named !== undefined && <span className={styles["named"]}><Icon name="pin" size={14} /> {t("inspector.is_input", { name: named[1].label ?? named[0] })}</span>}
      {namableInputs(at, id).includes(reference) && (
        <Button kind="quiet" className={styles["small"] ?? ""} onClick={() => promoteInput(reference)}><Icon name="pin" size={14} /> {t("inspector.make_input")}</Button>
      )}
    </li>
  );
}

interface OutputProps {
  readonly at: Here;
  readonly id: string;
  readonly port: OutputPort;
}

export function OutputRow({ at, id, port }: OutputProps): ReactNode {
  const t = useTexts();
  const reference = `${id}.${port.name}`;
  const goes = wiresFrom(at.scope, id).filter((wire) => wire.from === reference);
  const named = Object.entries(at.scope.outputs ?? {}).find(([, output]) => output.from === reference);
  return (
    <li className={styles["row"]}>
      <div className={styles["name"]}><span>{port.name}</span><span className={styles["type"]}>{port.type}</span></div>
      {goes.map((wire) => <div key={wire.to} className={styles["linked"]}><Icon name="right" size={14} /><Go reference={wire.to} /></div>)}
      {port.doc !== "" && <span className={styles["hint"]}><Prose text={port.doc} /></span>}
      {named !== undefined && <span className={styles["named"]}><Icon name="pin" size={14} /> {t("inspector.is_output", { name: named[1].label ?? named[0] })}</span>}
      {namableOutputs(at, id).includes(reference) && (
        <Button kind="quiet" className={styles["small"] ?? ""} onClick={() => promoteOutput(reference)}><Icon name="pin" size={14} /> {t("inspector.make_output")}</Button>
      )}
    </li>
  );
}

/** The port at the other end of a wire: selects its node. */
function Go({ reference }: { readonly reference: string }): ReactNode {
  const t = useTexts();
  return (
    <button type="button" className={styles["link"]} title={t("inspector.go_to", { node: split(reference).node })} onClick={() => useDocuments.getState().select([split(reference).node])}>
      {reference}
    </button>
  );
}
