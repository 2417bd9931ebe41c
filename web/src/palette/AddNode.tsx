/** The list of node types: what is chosen is added. */

import { type ReactNode, useCallback, useMemo, useState } from "react";

import { cssType } from "../canvas/colours";
import type { NodeType } from "../model/catalogue";
import { useCatalogue } from "../state/catalogue";
import { useDocument, useScopeId } from "../state/documents";
import { type AddNodeRequest, closePalette, usePalette } from "../state/palette";
import { preferences } from "../state/preferences";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import { Icon } from "../ui/icons";
import { Prose } from "../ui/Prose";
import { addOfType } from "./add";
import styles from "./AddNode.module.css";
import { ChoiceList, type ListLine } from "./ChoiceList";
import { type Addable, addables, insertables, isSubgraph, linesOf, summary, unwrapped } from "./types";

export function AddNode({ request }: { readonly request: AddNodeRequest }): ReactNode {
  const t = useTexts();
  const [query, setQuery] = useState(usePalette.getState().typed);
  const filter = request.into ?? (request.from === undefined ? undefined : `${request.from.node}.${request.from.port}`);
  const [isFiltered, setFiltered] = useState(filter !== undefined);
  const [active, setActive] = useState<Addable | null>(null);
  const document = useDocument();
  const scope = useScopeId();
  const catalogue = useCatalogue((state) => state.catalogue);
  const waiting = useCatalogue((state) => state.waiting);
  const all = useMemo(
    () => {
      if (isFiltered && request.into !== undefined) return insertables(document, scope, catalogue, request.into);
      return addables(document, scope, catalogue, isFiltered ? request.from : undefined);
    },
    [document, scope, catalogue, isFiltered, request],
  );
  const lines = useMemo((): readonly ListLine<Addable>[] => {
    const headings = {
      recent: t("palette.recent"), used: t("palette.most_used"), subgraphs: t("palette.subgraphs"), fitting: t("palette.fitting"),
    };
    return linesOf(query, all, preferences(), isFiltered, headings).map((line) =>
      "heading" in line ? line : { key: `${line.section} ${line.addable.type.id}`, value: line.addable });
  }, [query, all, isFiltered, t]);
  const showAll = useCallback(() => setFiltered(false), []);
  return (
    <div className={styles["columns"]}>
      <div className={styles["left"]}>
        <ChoiceList
          label={t("palette.add_node")} placeholder={t("palette.search_nodes")} query={query} lines={lines} onQuery={setQuery} onActive={setActive}
          onChoose={({ type, port, out }) => {
            closePalette();
            addOfType(type, request, port, out);
          }}
          {...(isFiltered ? { onEmptyBackspace: showAll } : {})}
          above={isFiltered && filter !== undefined && <Filter from={filter} onDrop={showAll} />}
          empty={<Nothing isKnown={catalogue.types.size > 0} isFiltered={isFiltered} waiting={waiting} onDrop={showAll} />}
          row={44}
          line={({ type }) => <TypeLine type={type} isFound={query.trim() !== ""} />}
        />
        <footer className={styles["keys"]}>
          <span><kbd>↑</kbd> <kbd>↓</kbd> {t("palette.key_choose")}</span>
          <span><kbd>Alt</kbd> <kbd>↓</kbd> {t("palette.key_section")}</span>
          <span><kbd>Enter</kbd> {t("palette.key_add")}</span>
          <span><kbd>Esc</kbd> {t("palette.key_close")}</span>
        </footer>
      </div>
      {active !== null && <Details addable={active} />}
    </div>
  );
}

function Filter({ from, onDrop }: { readonly from: string; readonly onDrop: () => void }): ReactNode {
  const t = useTexts();
  return (
    <div className={styles["filter"]}>
      <span>{t("palette.fits_to")} <code>{from}</code></span>
      <Button kind="quiet" onClick={onDrop}><Icon name="close" size={14} /> {t("palette.show_all")} <kbd>⌫</kbd></Button>
    </div>
  );
}

interface NothingProps {
  readonly isKnown: boolean;
  readonly isFiltered: boolean;
  readonly waiting: string | null;
  readonly onDrop: () => void;
}

function Nothing({ isKnown, isFiltered, waiting, onDrop }: NothingProps): ReactNode {
  const t = useTexts();
  if (!isKnown) return waiting ?? t("palette.not_loaded");
  if (!isFiltered) return t("palette.nothing_found");
  return <><p>{t("palette.nothing_fits")}</p><p><Button onClick={onDrop}>{t("palette.show_all")}</Button></p></>;
}

function TypeLine({ type, isFound }: { readonly type: NodeType; readonly isFound: boolean }): ReactNode {
  return (
    <>
      <span className={styles["mark"]}><Mark type={type} /></span>
      <span className={styles["name"]}>
        <span className={styles["title"]}>{type.title} <code>{type.id}</code></span>
        <span className={styles["doc"]}>{summary(type.doc).replaceAll("`", "")}</span>
      </span>
      <span className={styles["where"]}>{type.pack}{isFound && <> {type.category}</>}</span>
    </>
  );
}

/** The colours of what it gives, as its ports have them; it says nothing that the text does not. */
function Mark({ type }: { readonly type: NodeType }): ReactNode {
  if (isSubgraph(type)) return <Icon name="subgraph" size={16} />;
  const colours = [...new Set(type.outputs.map((port) => cssType(port.type)))].slice(0, 3);
  return colours.map((colour) => <span key={colour} className={styles["dot"]} style={{ background: colour }} />);
}

function Details({ addable: { type, port } }: { readonly addable: Addable }): ReactNode {
  const t = useTexts();
  return (
    <aside className={styles["details"]} aria-label={t("palette.about", { type: type.title })}>
      <h3>{type.title}</h3>
      <p className={styles["facts"]}><code>{type.id}</code> · {type.category}{type.pack !== null && <> · {t("palette.of_pack", { pack: type.pack })}</>}</p>
      <p className={styles["text"]}>{type.doc === "" ? t("palette.no_doc") : <Prose text={unwrapped(type.doc)} />}</p>
      <Ports title={t("palette.inputs")} ports={type.inputs} wired={port} />
      <Ports title={t("palette.outputs")} ports={type.outputs} wired={port} />
    </aside>
  );
}

interface PortsProps {
  readonly title: string;
  readonly ports: readonly { readonly name: string; readonly type: string; readonly optional?: boolean }[];
  readonly wired: string | undefined;
}

function Ports({ title, ports, wired }: PortsProps): ReactNode {
  if (ports.length === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <ul className={styles["ports"]}>
        {ports.map((port) => (
          <li key={port.name}>
            {port.name}{port.optional === true && "?"} <code>{port.type}</code>
            {port.name === wired && <Icon name="link" size={14} />}
          </li>
        ))}
      </ul>
    </>
  );
}
