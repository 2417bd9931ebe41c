/** Which inputs a sweep goes over, and with which values. */

import { useId, useMemo, useState } from "react";

import { useCatalogue } from "../../state/catalogue";
import { activeDocument, useDocument } from "../../state/documents";
import { valueText } from "../../state/format";
import { useLayout } from "../../state/layout";
import type { SweepAxis } from "../../state/memory";
import { MOST_SWEEP_JOBS, type SweepInput, cellsOf, readValues, startSweep, sweepInputs } from "../../state/sweep";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Dialog, closeDialog } from "../../ui/dialogs";
import styles from "./SweepDialog.module.css";

interface Chosen {
  readonly input: SweepInput | null;
  readonly text: string;
}

const NONE: Chosen = { input: null, text: "" };

export function SweepDialog(): React.ReactNode {
  const t = useTexts();
  const document = useDocument();
  const catalogue = useCatalogue((state) => state.catalogue);
  const inputs = useMemo(() => sweepInputs(document, catalogue), [document, catalogue]);
  const [first, setFirst] = useState<Chosen>(() => beginning(inputs[0]));
  const [second, setSecond] = useState<Chosen>(NONE);
  const read = [first, second].filter((one) => one.input !== null).map(axisOf);
  const bad = read.find((one): one is { bad: string } => "bad" in one)?.bad;
  const axes = read.filter((one): one is SweepAxis => !("bad" in one));
  const count = cellsOf(axes).length;
  const isTooMany = count > MOST_SWEEP_JOBS;
  const chooseFirst = (chosen: Chosen): void => {
    setFirst(chosen);
    if (keyOf(chosen.input) === keyOf(second.input)) setSecond(NONE);
  };
  const run = (): void => {
    const active = activeDocument();
    if (active === undefined) return;
    closeDialog();
    useLayout.getState().show("right", "sweep");
    void startSweep(active, axes);
  };
  return (
    <Dialog title={t("run.sweep_dialog")}>
      <form className={styles["form"]} onSubmit={(event) => { event.preventDefault(); if (count > 0 && !isTooMany && bad === undefined) run(); }}>
        <p>{t("run.sweep_intro")}</p>
        <Axis number={1} inputs={inputs} chosen={first} onChange={chooseFirst} />
        <Axis number={2} inputs={inputs.filter((input) => keyOf(input) !== keyOf(first.input))} chosen={second} onChange={setSecond} />
        <p className={bad !== undefined || isTooMany ? styles["bad"] : undefined} aria-live="polite">
          {bad !== undefined ? t("run.sweep_bad_value", { value: bad }) : t(isTooMany ? "run.sweep_too_many" : count === 1 ? "run.sweep_count_one" : "run.sweep_count", { count, most: MOST_SWEEP_JOBS })}
        </p>
        <div className={styles["end"]}>
          <Button kind="primary" type="submit" disabled={count === 0 || isTooMany || bad !== undefined}>{t("run.sweep_run")}</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The ports it goes to tell an input from all others; "" for none. */
function keyOf(input: SweepInput | null): string {
  return input?.ports.join(" ") ?? "";
}

function axisOf({ input, text }: Chosen): SweepAxis | { bad: string } {
  if (input === null) return { bad: "" };
  const read = readValues(text, input.kind);
  if ("bad" in read) return read;
  const wrong = input.isWhole ? read.values.find((value) => !Number.isInteger(value)) : undefined;
  return wrong === undefined ? { ports: input.ports, label: input.label, values: read.values } : { bad: valueText(wrong) };
}

/** What stands in the box when an input is chosen: its value, or all its options. */
function beginning(input: SweepInput | undefined): Chosen {
  if (input === undefined) return NONE;
  const value = input.value;
  const text = input.options.length > 0 ? input.options.join("\n") : value === undefined || typeof value === "object" ? "" : valueText(value);
  return { input, text };
}

interface AxisProps {
  readonly number: number;
  readonly inputs: readonly SweepInput[];
  readonly chosen: Chosen;
  onChange(chosen: Chosen): void;
}

function Axis({ number, inputs, chosen, onChange }: AxisProps): React.ReactNode {
  const t = useTexts();
  const id = useId();
  const choose = (key: string): void => onChange(beginning(inputs.find((input) => keyOf(input) === key)));
  return (
    <fieldset className={styles["axis"]}>
      <legend>{t("run.sweep_axis", { number })}</legend>
      <select aria-label={t("run.sweep_axis", { number })} value={keyOf(chosen.input)} onChange={(event) => choose(event.target.value)}>
        <option value="">{t("run.sweep_none")}</option>
        {inputs.map((input) => <option key={keyOf(input)} value={keyOf(input)}>{input.label}</option>)}
      </select>
      {chosen.input !== null && (
        <>
          <label htmlFor={id}>{t("run.sweep_values")}</label>
          <textarea id={id} rows={4} value={chosen.text} aria-describedby={`${id}-hint`} onChange={(event) => onChange({ ...chosen, text: event.target.value })} />
          <small id={`${id}-hint`}>{t("run.sweep_values_hint")}</small>
        </>
      )}
    </fieldset>
  );
}
