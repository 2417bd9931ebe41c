/** A form made from the document's named inputs, with a button that runs it and the newest result below. */

import { type ReactNode, useId } from "react";

import { type FormField, addField, fillIn, formFields, possibleFields } from "../../model/form";
import { removeInput } from "../../model/edit";
import { useCatalogue } from "../../state/catalogue";
import { useDocument, useDocuments } from "../../state/documents";
import { useTexts } from "../../texts";
import { Empty } from "../../ui/Empty";
import { Prose } from "../../ui/Prose";
import { Widget } from "../../widgets/Widget";
import { MenuButton } from "../gallery/MenuButton";
import styles from "./parameters.module.css";
import { Result } from "./Result";
import { RunButton } from "./RunButton";

interface Props {
  /** Whether fields can be added and taken out; else it is only filled in. */
  readonly isEditable: boolean;
}

export function Form({ isEditable }: Props): ReactNode {
  const t = useTexts();
  const document = useDocument();
  const catalogue = useCatalogue((state) => state.catalogue);
  const draft = useDocuments((state) => state.active);
  const fields = formFields(document, catalogue);
  return (
    <div className={styles["form"]}>
      <div className={styles["inputs"]}>
        {document.description !== undefined && document.description !== "" && <p className={styles["about"]}><Prose text={document.description} /></p>}
        {fields.length === 0 && <Empty icon="parameters" title={t("parameters.empty")}><p>{t("parameters.empty_more")}</p></Empty>}
        <form className={styles["fields"]} onSubmit={(event) => event.preventDefault()}>
          {fields.map((field) => <Field key={`${draft} ${field.name}`} field={field} draft={draft} isEditable={isEditable} />)}
        </form>
        {isEditable && <AddField />}
        <RunButton />
      </div>
      <Result isShownAtEnd={!isEditable} />
    </div>
  );
}

function Field({ field, draft, isEditable }: Props & { readonly field: FormField; readonly draft: string }): ReactNode {
  const t = useTexts();
  const id = useId();
  const { apply } = useDocuments.getState();
  const { port } = field;
  return (
    <div className={styles["field"]} role="group" aria-labelledby={id}>
      <div className={styles["label"]}>
        <span id={id}>{field.label}</span>
        {isEditable && (
          <MenuButton
            label={t("parameters.field_actions", { label: field.label })}
            groups={() => [[{ id: "remove", title: t("parameters.remove"), icon: "trash", run: () => apply("parameters.step_remove", removeInput("", field.name)) }]]}
          />
        )}
      </div>
      {port === undefined ? (
        <p role="alert" className={styles["flaw"]}>{t("parameters.lost", { to: field.to.join(", ") })}</p>
      ) : (
        <Widget
          port={port} value={field.value} label={field.label}
          onChange={(value, session) => apply("parameters.step_fill", fillIn(field, value), `form ${field.name} ${session}`, draft)}
        />
      )}
      {port !== undefined && port.doc !== "" && port.doc !== field.label && <small className={styles["doc"]}><Prose text={port.doc} /></small>}
    </div>
  );
}

/** Makes a port of the document a field. */
function AddField(): ReactNode {
  const t = useTexts();
  const document = useDocument();
  const catalogue = useCatalogue((state) => state.catalogue);
  const possible = possibleFields(document, catalogue);
  if (possible.length === 0) return null;
  return (
    <select
      className={styles["add"]} value="" aria-label={t("parameters.add")}
      onChange={(event) => useDocuments.getState().apply("parameters.step_add", addField(event.target.value))}
    >
      <option value="">{t("parameters.add")} ...</option>
      {possible.map(({ node, ports }) => (
        <optgroup key={node} label={node}>
          {ports.map((port) => <option key={port.name} value={`${node}.${port.name}`}>{port.name}</option>)}
        </optgroup>
      ))}
    </select>
  );
}
