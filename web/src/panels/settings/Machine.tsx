/** Devices with what they hold in memory, and what is remembered of results; both can be given back. */

import { type ReactNode, useState } from "react";

import { type Schemas, clearCache, freeMemory, listDevices, readCache, sentence } from "../../api/client";
import { sizeText } from "../../state/format";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import { say } from "../../ui/toasts";
import { useAsked } from "./asked";
import styles from "./Settings.module.css";

export function Machine(): ReactNode {
  const t = useTexts();
  const devices = useAsked(listDevices);
  const memo = useAsked(readCache);
  const again = (): void => {
    void devices.ask();
    void memo.ask();
  };
  return (
    <div className={styles["part"]}>
      <div className={styles["head"]}>
        <strong>{t("settings.devices")}</strong>
        <Button kind="quiet" label={t("settings.again")} onClick={again}><Icon name="refresh" size={16} /></Button>
      </div>
      {devices.problem !== null && <p className={styles["bad"]} role="status">{devices.problem}</p>}
      {devices.value !== null && <Devices view={devices.value} onChange={devices.ask} />}
      <h3>{t("settings.memo")}</h3>
      <p className={styles["hint"]}>{t("settings.memo_hint")}</p>
      {memo.problem !== null && <p className={styles["bad"]} role="status">{memo.problem}</p>}
      {memo.value !== null && <Memo view={memo.value} onChange={memo.ask} />}
    </div>
  );
}

function Devices({ view, onChange }: { readonly view: Schemas["DevicesView"]; readonly onChange: () => Promise<void> }): ReactNode {
  const t = useTexts();
  const [isFreeing, setFreeing] = useState(false);
  const free = async (device: string | null): Promise<void> => {
    setFreeing(true);
    try {
      const freed = Object.values((await freeMemory(device)).freed_bytes).reduce((sum, bytes) => sum + bytes, 0);
      say(t("settings.freed", { size: sizeText(freed) }), { kind: "good" });
      await onChange();
    } catch (error) {
      say(sentence(error), { kind: "bad" });
    }
    setFreeing(false);
  };
  return (
    <>
      <p className={styles["hint"]}>{t("settings.engine", { state: view.engine })}{view.environment !== "" && ` · ${view.environment}`}</p>
      {view.places.map((place) => (
        <div key={place.name} className={styles["card"]}>
          <div className={styles["head"]}>
            <code>{place.name}</code><span>{place.state}</span>
          </div>
          <Meter used={place.resident_bytes ?? null} of={place.budget_bytes ?? null} label={t("settings.memory_of", { device: place.name })} />
          {place.message != null && <p className={styles["hint"]}>{place.message}</p>}
          {view.devices.includes(place.name) && <Button disabled={isFreeing} onClick={() => void free(place.name)}>{t("settings.free")}</Button>}
        </div>
      ))}
      {view.devices.length > 1 && <Button disabled={isFreeing} onClick={() => void free(null)}>{t("settings.free_all")}</Button>}
    </>
  );
}

function Memo({ view, onChange }: { readonly view: Schemas["CacheView"]; readonly onChange: () => Promise<void> }): ReactNode {
  const t = useTexts();
  const clear = async (): Promise<void> => {
    try {
      say(t("settings.freed", { size: sizeText((await clearCache({ disk_cache: false })).freed_bytes) }), { kind: "good" });
      await onChange();
    } catch (error) {
      say(sentence(error), { kind: "bad" });
    }
  };
  return (
    <div className={styles["card"]}>
      <div className={styles["head"]}><span>{t("settings.objects", { count: view.memo.objects })}</span></div>
      <Meter used={view.memo.bytes} of={view.memo.limit_bytes} label={t("settings.memo")} />
      <Button onClick={() => void clear()}>{t("settings.clear")}</Button>
    </div>
  );
}

function Meter({ used, of, label }: { readonly used: number | null; readonly of: number | null; readonly label: string }): ReactNode {
  if (used === null) return null;
  if (of === null || of <= 0) return <span className={styles["hint"]}>{sizeText(used)}</span>;
  const part = Math.min(1, used / of);
  return (
    <>
      <div className={styles["meter"]} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={of} aria-valuenow={used} aria-valuetext={sizeText(used)}>
        <div style={{ width: `${part * 100}%` }} />
      </div>
      <span className={styles["hint"]}>{sizeText(used)} / {sizeText(of)}</span>
    </>
  );
}
