/** The list of everything that can be done now, with its keys: what is chosen is done. */

import { type ReactNode, useMemo, useState } from "react";

import type { Command } from "../commands/command";
import { shownKeys } from "../commands/keys";
import { COMMANDS } from "../commands/registry";
import { closePalette, usePalette } from "../state/palette";
import { useTexts } from "../texts";
import { ChoiceList, type ListLine } from "./ChoiceList";
import styles from "./CommandList.module.css";
import { field, find, grouped } from "./search";

export function CommandList(): ReactNode {
  const t = useTexts();
  const [query, setQuery] = useState(usePalette.getState().typed);
  // What can be done is asked once, as the list opens: nothing changes behind it.
  const all = useMemo(() => {
    const enabled = [...COMMANDS.values()].filter((command) => !command.hidden && command.enabled?.() !== false);
    const groupThenTitle = (command: Command): string => `${t(command.group)}\n${t(command.title)}`;
    return enabled
      .map((command) => ({ command, fields: [field(t(command.title), 10, true), field(t(command.group), 4), field(command.id.replaceAll("_", " "), 5, true)] }))
      .sort((a, b) => groupThenTitle(a.command).localeCompare(groupThenTitle(b.command)));
  }, [t]);
  const lines = useMemo((): readonly ListLine<Command>[] => {
    const found = find(query, all).map(({ command }) => ({ key: command.id, value: command }));
    if (query.trim() !== "") return found;
    return [...grouped(found, ({ value }) => t(value.group))].flatMap(([heading, some]) => [{ heading }, ...some]);
  }, [query, all, t]);
  return (
    <ChoiceList
      label={t("palette.commands")} placeholder={t("palette.search_commands")} query={query} lines={lines} onQuery={setQuery}
      onChoose={(command) => {
        closePalette();
        if (command.enabled?.() !== false) void command.run();
      }}
      empty={t("palette.no_command")}
      row={34}
      line={(command) => (
        <>
          <span className={styles["title"]}>{t(command.title)}</span>
          {query.trim() !== "" && <span className={styles["group"]}>{t(command.group)}</span>}
          {(command.keys ?? []).slice(0, 1).map((keys) => <kbd key={keys}>{shownKeys(keys)}</kbd>)}
        </>
      )}
    />
  );
}
