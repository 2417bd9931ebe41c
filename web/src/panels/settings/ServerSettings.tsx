/** What the server is set to, and where each value comes from; to be read only. */

import { type ReactNode, useState } from "react";

import { type Schemas, listSettings, readServer } from "../../api/client";
import { useTexts } from "../../texts";
import fields from "../../ui/Field.module.css";
import { Prose } from "../../ui/Prose";
import { useAsked } from "./asked";
import styles from "./Settings.module.css";

export function ServerSettings(): ReactNode {
  const t = useTexts();
  const server = useAsked(readServer);
  const settings = useAsked(listSettings);
  const [query, setQuery] = useState("");
  const problem = server.problem ?? settings.problem;
  const wanted = query.trim().toLowerCase();
  const shown = settings.value?.settings.filter((one) => `${one.name} ${one.description}`.toLowerCase().includes(wanted)) ?? [];
  return (
    <div className={styles["part"]}>
      {problem !== null && <p className={styles["bad"]} role="status">{problem}</p>}
      {server.value !== null && <dl className={styles["facts"]}><dt>{t("settings.version")}</dt><dd>{server.value.name} {server.value.version}</dd></dl>}
      <p className={styles["hint"]}>{t("settings.server_hint")}</p>
      <input
        type="search" className={fields["input"]} aria-label={t("settings.find")} placeholder={t("settings.find")}
        value={query} onChange={(event) => setQuery(event.target.value)}
      />
      <ul className={styles["settings"]}>{shown.map((one) => <Setting key={one.name} setting={one} />)}</ul>
    </div>
  );
}

function Setting({ setting }: { readonly setting: Schemas["SettingView"] }): ReactNode {
  const t = useTexts();
  const { name, value, source, description } = setting;
  return (
    <li>
      <div><code><strong>{name}</strong></code><span className={styles["source"]} data-source={source}>{t(`settings.source_${source}`)}</span></div>
      <div><code>{typeof value === "string" ? value : JSON.stringify(value)}</code></div>
      <div className={styles["hint"]}><Prose text={description} /></div>
    </li>
  );
}
