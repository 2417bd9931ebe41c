/** A button that shows the form over the whole page, and the form there: all one needs on a phone. */

import { type ReactNode, Suspense } from "react";

import { useFormView } from "../state/form";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { later } from "../ui/later";
import type { Bar } from "./bar";

const FullForm = later(async () => ({ default: (await import("../panels/parameters/FullForm")).FullForm }));

function Form(): ReactNode {
  const t = useTexts();
  const { isFull, setFull } = useFormView();
  return (
    <>
      <Button kind="quiet" title={t("parameters.form")} aria-pressed={isFull} onClick={() => setFull(!isFull)}>{t("parameters.form_short")}</Button>
      {isFull && <Suspense><FullForm /></Suspense>}
    </>
  );
}

const bar: Bar = { place: "right", order: 800, Component: Form };
export default bar;
