import type { ReactNode } from "react";

import type { Scope, WorkflowDocument } from "../model/document";
import { useDocument, useDocuments } from "../state/documents";
import { useTexts } from "../texts";
import styles from "./canvas.module.css";

/** Where one is inside instances of subgraphs, and the ways back. Nothing at the top. */
export function Breadcrumb(): ReactNode {
  const t = useTexts();
  const document = useDocument();
  const path = useDocuments((state) => state.open.find((one) => one.id === state.active)?.path);
  const enter = useDocuments((state) => state.enter);
  if (path === undefined || path.length === 0) return null;
  const names = [document.name ?? t("canvas.untitled"), ...namesAlong(document, path)];
  return (
    <nav className={styles["breadcrumb"]} aria-label={t("canvas.breadcrumb")}>
      <ol>
        {names.map((name, at) => (
          <li key={at}>
            {at < path.length
              ? <button type="button" onClick={() => enter(path.slice(0, at))}>{name}</button>
              : <span aria-current="page">{name}</span>}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function namesAlong(document: WorkflowDocument, path: readonly string[]): readonly string[] {
  let scope: Scope | undefined = document;
  return path.map((id) => {
    const title = scope?.view?.nodes?.[id]?.title ?? id;
    const type: string = scope?.nodes[id]?.type ?? "";
    scope = document.subgraphs?.[type.slice(1)];
    return title;
  });
}
