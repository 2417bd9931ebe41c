/** What the page does as its user likes it, and what the server is set to. */

import { type ReactNode, useState } from "react";

import { COMMANDS } from "../../commands/registry";
import { usePreferences } from "../../state/preferences";
import { LANGUAGES, type Language, useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Choice, Select, Switch } from "../../ui/Field";
import { Icon } from "../../ui/icons";
import { Tabs } from "../../ui/Tabs";
import { Machine } from "./Machine";
import { ServerSettings } from "./ServerSettings";
import styles from "./Settings.module.css";

export function Settings(): ReactNode {
  const t = useTexts();
  const [shown, show] = useState<"page" | "machine" | "server">("page");
  const tabs = [
    { id: "page", title: t("settings.page") },
    { id: "machine", title: t("settings.machine") },
    { id: "server", title: t("settings.server") },
  ] as const;
  return (
    <Tabs label={t("settings.panel")} tabs={tabs} shown={shown} onShow={show}>
      {shown === "page" && <Page />}
      {shown === "machine" && <Machine />}
      {shown === "server" && <ServerSettings />}
    </Tabs>
  );
}

const LANGUAGE_NAMES: { readonly [L in Language]: string } = { en: "English", de: "Deutsch" };

function Page(): ReactNode {
  const t = useTexts();
  const { theme, language, previews, results, minimap, snap, wheel, drag, textSize, set } = usePreferences();
  return (
    <div className={styles["part"]}>
      <Choice
        label={t("settings.theme")} value={theme} onChange={(value) => set({ theme: value })}
        options={[{ value: "system", title: t("settings.theme_system") }, { value: "light", title: t("settings.theme_light") }, { value: "dark", title: t("settings.theme_dark") }]}
      />
      <Choice
        label={t("settings.text_size")} value={textSize} onChange={(value) => set({ textSize: value })}
        options={[{ value: "s", title: t("settings.text_s") }, { value: "m", title: t("settings.text_m") }, { value: "l", title: t("settings.text_l") }]}
      />
      <Select
        label={t("settings.language")} value={language} onChange={(value) => set({ language: value })}
        options={LANGUAGES.map((value) => ({ value, title: LANGUAGE_NAMES[value] }))}
      />
      <h3>{t("settings.canvas")}</h3>
      <Choice
        label={t("settings.wheel")} value={wheel} onChange={(value) => set({ wheel: value })} hint={t("settings.wheel_hint")}
        options={[{ value: "zoom", title: t("settings.wheel_zoom") }, { value: "pan", title: t("settings.wheel_pan") }]}
      />
      <Choice
        label={t("settings.drag")} value={drag} onChange={(value) => set({ drag: value })} hint={t(drag === "pan" ? "settings.drag_pan_hint" : "settings.drag_select_hint")}
        options={[{ value: "select", title: t("settings.drag_select") }, { value: "pan", title: t("settings.drag_pan") }]}
      />
      <Switch label={t("settings.minimap")} isOn={minimap} onChange={(value) => set({ minimap: value })} />
      <Switch label={t("settings.snap")} isOn={snap} onChange={(value) => set({ snap: value })} />
      <h3>{t("settings.running")}</h3>
      <Switch label={t("settings.previews")} isOn={previews} onChange={(value) => set({ previews: value })} hint={t("settings.previews_hint")} />
      <Switch label={t("settings.results")} isOn={results} onChange={(value) => set({ results: value })} />
      <h3>{t("settings.help")}</h3>
      <div className={styles["buttons"]}>
        <Button onClick={() => void COMMANDS.get("show_shortcuts")?.run()}><Icon name="keyboard" size={16} /> {t("commands.show_shortcuts")}</Button>
        <Button onClick={() => void COMMANDS.get("show_commands")?.run()}><Icon name="search" size={16} /> {t("commands.show_commands")}</Button>
      </div>
    </div>
  );
}
