/** The list of all keys, searched by what they do or by the keys themselves. */

import { type ReactNode, useMemo, useState } from "react";

import { shownKeys } from "../commands/keys";
import { COMMANDS } from "../commands/registry";
import { useTexts } from "../texts";
import { Dialog } from "../ui/dialogs";
import fields from "../ui/Field.module.css";
import { grouped, plainText } from "./search";
import styles from "./Shortcuts.module.css";

const GESTURES = ["mouse_move", "mouse_zoom", "mouse_select", "mouse_copy", "mouse_add", "mouse_insert", "mouse_reroute", "mouse_rename", "mouse_menu"] as const;

export function Shortcuts(): ReactNode {
  const t = useTexts();
  const [query, setQuery] = useState("");
  const groups = useMemo(() => {
    const rows = [...COMMANDS.values()]
      .filter((command) => command.keys !== undefined)
      .map((command) => ({ id: command.id, group: t(command.group), title: t(command.title), keys: (command.keys ?? []).map((keys) => shownKeys(keys)), how: "" }));
    const gestures = GESTURES.map((name) => ({ id: name, group: t("commands.on_canvas"), title: t(`commands.${name}`), keys: [], how: t(`commands.${name}_how`) }));
    const wanted = plainText(query.trim());
    const found = [...gestures, ...rows].filter((row) => plainText(`${row.group} ${row.title} ${row.keys.join(" ")} ${row.how}`).includes(wanted));
    return [...grouped(found, (row) => row.group)];
  }, [query, t]);
  return (
    <Dialog title={t("commands.keys_and_mouse")} size="l">
      <input
        type="search" className={fields["input"]} aria-label={t("commands.find_keys")} placeholder={t("commands.find_keys")} autoFocus
        value={query} onChange={(event) => setQuery(event.target.value)}
      />
      {groups.length === 0 && <p role="status">{t("commands.no_keys")}</p>}
      <div className={styles["groups"]}>
        {groups.map(([group, rows]) => (
          <section key={group} className={styles["group"]}>
            <h3>{group}</h3>
            <dl>
              {rows.map((row) => (
                <div key={row.id}>
                  <dt>{row.title}</dt>
                  <dd>{row.how}{row.keys.map((keys) => <kbd key={keys}>{keys}</kbd>)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
