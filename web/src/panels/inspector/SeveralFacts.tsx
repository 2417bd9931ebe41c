/** Several things at once: what can be said and done of all of them. */

import type { ReactNode } from "react";

import type { Command } from "../../commands/command";
import { type Here, chosenNodes } from "../../commands/here";
import { COMMANDS } from "../../commands/registry";
import { nodeViewOf, viewOf } from "../../model/view";
import { useDocuments } from "../../state/documents";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import styles from "./Inspector.module.css";
import { ColourChoice, StateChoice } from "./Looks";

const ACTIONS = ["frame_selection", "make_subgraph", "layout_selection", "align_left", "align_top", "distribute_horizontal", "distribute_vertical", "duplicate", "delete_items"];

export function SeveralFacts({ at }: { readonly at: Here }): ReactNode {
  const t = useTexts();
  const { frames, notes } = viewOf(at.scope);
  const colours = [
    ...at.nodes.map((id) => nodeViewOf(at.scope, id).color),
    ...frames.filter(({ id }) => at.frames.includes(id)).map((box) => box.color),
    ...notes.filter(({ id }) => at.notes.includes(id)).map((box) => box.color),
  ];
  const actions = ACTIONS.map((id) => COMMANDS.get(id)).filter((one): one is Command => one !== undefined && one.enabled?.() !== false);
  return (
    <>
      <section className={styles["section"]}>
        <h3>{t("inspector.several", { count: at.items.length })}</h3>
        {chosenNodes(at).length > 0 && <StateChoice at={at} />}
        <ColourChoice now={colours} />
      </section>
      <section className={styles["section"]}>
        <div className={styles["buttons"]}>
          {actions.map((command) => <Button key={command.id} onClick={() => void command.run()}>{t(command.title)}</Button>)}
        </div>
      </section>
      <section className={styles["section"]}>
        <ul className={styles["rows"]}>
          {at.nodes.map((id) => (
            <li key={id} className={styles["name"]}>
              <button type="button" className={styles["link"]} onClick={() => useDocuments.getState().select([id])}>{id}</button>
              <span className={styles["type"]}>{at.scope.nodes[id]?.type}</span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}
