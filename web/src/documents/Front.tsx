/** What lies over the canvas: what is missing for the active document, and the templates while nothing is open. */

import { Suspense, useMemo, useState } from "react";

import { useSession } from "../api/session";
import { useCatalogue } from "../state/catalogue";
import { useDocument, useDocuments } from "../state/documents";
import { missingIn } from "../state/missing";
import { useSaving } from "../state/saving";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import styles from "./Front.module.css";
import { Templates } from "./later";
import { MissingTexts } from "./MissingTexts";

export function Front(): React.ReactNode {
  const t = useTexts();
  const isAway = useSession((state) => state.state === "away");
  const isEmpty = useDocuments((state) => state.open.length === 0);
  const isRestored = useSaving((state) => state.isRestored);
  return (
    <>
      <h1 className={styles["spoken"]}>Latentgraph</h1>
      {isEmpty && isRestored && <div className={styles["gallery"]}><Suspense><Templates /></Suspense></div>}
      <div className={styles["notices"]}>
        {isAway && <p className={styles["notice"]} role="status">{t("documents.waiting_server")}</p>}
        <Waiting />
        <MissingBanner />
      </div>
    </>
  );
}

/** The node types are not there yet. */
function Waiting(): React.ReactNode {
  const t = useTexts();
  const waiting = useCatalogue((state) => (state.isLoaded ? null : state.waiting));
  return waiting !== null && <p className={styles["notice"]} role="status">{t("documents.waiting_catalogue")} {waiting}</p>;
}

function MissingBanner(): React.ReactNode {
  const t = useTexts();
  const document = useDocument();
  const catalogue = useCatalogue((state) => state.catalogue);
  const models = useCatalogue((state) => state.models);
  const missing = useMemo(() => missingIn(document, catalogue, models), [document, catalogue, models]);
  const key = [...missing.types, ...missing.models].join(" ");
  const [hidden, hide] = useState("");
  if (key === "" || hidden === key) return null;
  return (
    <div className={styles["notice"]} role="status">
      <div className={styles["texts"]}><MissingTexts {...missing} /></div>
      <Button kind="quiet" onClick={() => hide(key)}>{t("documents.hide")}</Button>
    </div>
  );
}
