import type { NodeProps } from "@xyflow/react";
import { type ReactNode, memo, useContext } from "react";

import { isLink } from "../model/document";
import { setNodeView } from "../model/edit";
import { type Row, pictureOf, rowsOf } from "../model/measure";
import { useDocuments } from "../state/documents";
import { t } from "../texts";
import { coloured, cssColour } from "./colours";
import { type FlowNode, type NodeItem, titleOf } from "./flow";
import { couldFit, useLinking } from "./linking";
import styles from "./node.module.css";
import { Label } from "./Label";
import { NodePicture } from "./NodePicture";
import { NodePreview } from "./NodePreview";
import { NodeStatus } from "./NodeStatus";
import { OutputEye } from "./OutputEye";
import { PortButton } from "./PortButton";
import { ResizeEdge } from "./ResizeEdge";
import { currentScene } from "./linking";
import { Place } from "./place";
import { SeedNote } from "./SeedNote";
import { TitleField } from "./TitleField";
import { ValueRow } from "./ValueRow";

/** A node: its title, its ports and its values. Rendered again when its own item changes, and while a wire is drawn. */
export const NodeBox = memo(
  function NodeBox({ data, selected }: NodeProps<FlowNode>): ReactNode {
    return data.item.kind === "node" ? <Body item={data.item} isSelected={selected} /> : null;
  },
  (before, after) => before.data === after.data && before.selected === after.selected,
);

function Body({ item, isSelected }: { readonly item: NodeItem; readonly isSelected: boolean }): ReactNode {
  const { path } = useContext(Place);
  const { node, view, type } = item;
  const isCollapsed = view.collapsed === true;
  const look = [styles["node"], isSelected && styles["selected"], type === undefined && styles["missing"], node.state !== undefined && styles[node.state], isCollapsed && styles["collapsed"], node.type.startsWith("#") && styles["subgraph"]];
  const colour = cssColour(view.color);
  const rows = rowsOf(item.ports);
  const tabIndex = isSelected ? 0 : -1;
  const runId = [...path, item.id].join("/");
  const picture = pictureOf(item.ports, type);
  return (
    <div className={look.filter(Boolean).join(" ")} style={colour === undefined ? undefined : coloured(colour)} data-node={item.id} data-type={node.type}>
      <Header item={item} tabIndex={tabIndex} />
      {isCollapsed ? <CollapsedPorts item={item} /> : rows.map((row) => <Line key={`${row.input?.name ?? ""}/${row.output?.name ?? ""}`} row={row} item={item} tabIndex={tabIndex} />)}
      <div className={styles["foot"]}><NodeStatus path={runId} /></div>
      <div className={styles["under"]}>
        {seedsOf(item).map((port) => <SeedNote key={port} path={runId} node={item.id} port={port} />)}
        {!isCollapsed && <NodePreview path={runId} />}
        {!isCollapsed && picture !== null && <NodePicture item={item} path={runId} picture={picture} isSelected={isSelected} />}
      </div>
      {isSelected && <ResizeEdge id={item.id} item={item} edges="width" />}
    </div>
  );
}

/** The seeds that are written on the node. */
function seedsOf(item: NodeItem): string[] {
  return item.ports.inputs.filter((port) => port.hint?.hint === "seed").map((port) => port.name);
}

function Header({ item, tabIndex }: { readonly item: NodeItem; readonly tabIndex: number }): ReactNode {
  const { scope } = useContext(Place);
  const isCollapsed = item.view.collapsed === true;
  const state = item.node.state;
  const problem = item.type === undefined ? t("nodes.notInstalled", { type: item.node.type }) : undefined;
  return (
    <header className={styles["header"]} title={problem ?? item.type?.doc}>
      <button
        type="button"
        className={`nodrag ${styles["fold"]}`}
        tabIndex={tabIndex}
        aria-expanded={!isCollapsed}
        aria-label={t(isCollapsed ? "nodes.expand" : "nodes.collapse")}
        onClick={() => useDocuments.getState().apply("canvas.collapsed", setNodeView(scope, [item.id], { collapsed: !isCollapsed }))}
      >
        {isCollapsed ? "▸" : "▾"}
      </button>
      <TitleField
        title={titleOf(item)}
        isFixed={item.node.type.startsWith("#")}
        onTitle={(title) => useDocuments.getState().apply("canvas.titled", setNodeView(scope, [item.id], { title: title === item.type?.title ? "" : title }))}
      />
      {problem !== undefined && <span className={styles["tag"]}>{t("nodes.missingTag")}</span>}
      {state !== undefined && <span className={styles["tag"]}>{t(state === "muted" ? "nodes.muted" : "nodes.bypassed")}</span>}
      <span className={styles["id"]}>{item.id}</span>
    </header>
  );
}

/** What the ports of a node look like while a wire is drawn. */
function useMood(item: NodeItem): (name: string, side: "input" | "output") => string {
  const from = useLinking((state) => state.linking?.from ?? null);
  const aim = useLinking((state) => (state.linking?.aim?.node === item.id ? state.linking.aim : null));
  const isOk = useLinking((state) => (state.linking?.aim?.node === item.id ? state.linking.verdict?.ok === true : false));
  const scene = currentScene();
  return (port, side) => {
    if (from === null || scene === null) return "";
    if (from.node === item.id && from.port === port && from.side === side) return "origin";
    if (aim !== null && aim.port === port && aim.side === side) return isOk ? "aim" : "refused";
    return from.node !== item.id && couldFit(scene, from, { node: item.id, port, side }) ? "fits" : "dim";
  };
}

function Line({ row, item, tabIndex }: { readonly row: Row; readonly item: NodeItem; readonly tabIndex: number }): ReactNode {
  const { path } = useContext(Place);
  const mood = useMood(item);
  const runId = [...path, item.id].join("/");
  const { input, output } = row;
  const link = input === undefined ? null : linkOf(item, input.name);
  return (
    <div className={`${styles["row"]} ${row.height > 24 ? styles["tall"] : ""}`} style={{ height: row.height }}>
      {input !== undefined && <PortButton path={runId} node={item.id} port={input} side="input" link={link} mood={mood(input.name, "input")} tabIndex={tabIndex} />}
      {input !== undefined && row.value && <ValueRow item={item} port={input} link={link} tabIndex={tabIndex} />}
      {input !== undefined && !row.value && <Label name={input.name} named={item.named[`<${input.name}`]} isMissing={link === null && !input.optional && input.default === undefined} />}
      {input !== undefined && !row.value && link === null && <Held item={item} port={input.name} />}
      {output !== undefined && <OutputEye path={runId} port={output.name} />}
      {output !== undefined && <Label name={output.name} named={item.named[`>${output.name}`]} isRight />}
      {output !== undefined && <PortButton path={runId} node={item.id} port={output} side="output" link={null} mood={mood(output.name, "output")} tabIndex={tabIndex} />}
    </div>
  );
}

/** A value that a node holds where none can be edited: of a type that is missing. */
function Held({ item, port }: { readonly item: NodeItem; readonly port: string }): ReactNode {
  const value = item.node.inputs[port];
  if (value === undefined) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return <span className={styles["held"]} title={text}>{text}</span>;
}

function CollapsedPorts({ item }: { readonly item: NodeItem }): ReactNode {
  const [input] = item.ports.inputs;
  const [output] = item.ports.outputs;
  return (
    <>
      {input !== undefined && <i className={`${styles["stub"]} ${styles["input"]}`} aria-hidden="true" />}
      {output !== undefined && <i className={`${styles["stub"]} ${styles["output"]}`} aria-hidden="true" />}
    </>
  );
}

/** What is linked to an input, under its name or a former one. */
function linkOf(item: NodeItem, port: string): string | null {
  const names = [port, ...(item.ports.inputs.find((input) => input.name === port)?.was ?? [])];
  for (const name of names) {
    const value = item.node.inputs[name];
    if (value !== undefined) return isLink(value) ? value.link : null;
  }
  return null;
}
