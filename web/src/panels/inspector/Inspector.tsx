/** Everything about what is selected; about the document, or the subgraph one is in, while nothing is. */

import { type ReactNode, useMemo } from "react";

import { useCatalogue } from "../../state/catalogue";
import { useDocument, useDocuments, useScopeId } from "../../state/documents";
import { type Here, here } from "../../commands/here";
import { useTexts } from "../../texts";
import { Empty } from "../../ui/Empty";
import { BoxFacts } from "./BoxFacts";
import { DocumentFacts } from "./DocumentFacts";
import styles from "./Inspector.module.css";
import { NodeFacts } from "./NodeFacts";
import { SeveralFacts } from "./SeveralFacts";
import { SubgraphFacts } from "./SubgraphFacts";

export function Inspector(): ReactNode {
  const t = useTexts();
  const at = useHere();
  if (at === null) return <Empty icon="inspect" title={t("inspector.no_document")}><p>{t("inspector.no_document_hint")}</p></Empty>;
  return <div className={styles["inspector"]}><Facts at={at} /></div>;
}

function Facts({ at }: { readonly at: Here }): ReactNode {
  const [item] = at.items;
  if (item === undefined) return at.scopeId === "" ? <DocumentFacts at={at} /> : <SubgraphFacts at={at} id={at.scopeId} />;
  if (at.items.length > 1) return <SeveralFacts at={at} />;
  const [node] = at.nodes;
  return node === undefined ? <BoxFacts key={item} at={at} item={item} /> : <NodeFacts key={node} at={at} id={node} />;
}

/** `here()`, again whenever what it tells of changes. */
function useHere(): Here | null {
  const document = useDocument();
  const scope = useScopeId();
  const catalogue = useCatalogue((state) => state.catalogue);
  const selection = useDocuments((state) => state.open.find((one) => one.id === state.active)?.selection);
  return useMemo(() => {
    void [document, scope, catalogue, selection]; // what `here` reads
    return here();
  }, [document, scope, catalogue, selection]);
}
