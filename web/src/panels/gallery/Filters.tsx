/** Which results are shown: a part of the prompt, kind, workflow, only those with a star. */

import { type ReactNode, useEffect, useMemo, useState } from "react";

import type { OutputFilter } from "../../api/results";
import { useGallery } from "../../state/gallery";
import { useTexts } from "../../texts";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import styles from "./gallery.module.css";

/** A search waits so long for the next letter. */
const TYPING_MS = 250;

export function Filters(): ReactNode {
  const t = useTexts();
  const filter = useGallery((state) => state.filter);
  const set = (part: Partial<OutputFilter>): void => void useGallery.getState().setFilter({ ...useGallery.getState().filter, ...part });
  const known = useKnown();
  return (
    <div className={styles["filters"]} role="search">
      <Search text={filter.text ?? ""} onText={(text) => set({ text })} />
      <Button
        label={t("gallery.only_starred")}
        aria-pressed={filter.starred === true}
        className={`${styles["toggle"]} ${filter.starred === true ? styles["starred"] : ""}`}
        onClick={() => void useGallery.getState().setFilter(withStarred(filter))}
      >
        <Icon name="star" size={16} />
      </Button>
      <Choice label={t("gallery.kind")} value={filter.kind ?? ""} values={known.kinds} onValue={(kind) => set({ kind })} />
      <Choice label={t("gallery.workflow")} value={filter.workflow ?? ""} values={known.workflows} onValue={(workflow) => set({ workflow })} />
    </div>
  );
}

function withStarred(filter: OutputFilter): OutputFilter {
  const { starred, ...rest } = filter;
  return starred === true ? rest : { ...rest, starred: true };
}

function Search({ text, onText }: { readonly text: string; readonly onText: (text: string) => void }): ReactNode {
  const t = useTexts();
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onText(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }); // whatever was rendered: the newest text counts
  return (
    <label className={styles["search"]}>
      <Icon name="search" size={16} />
      <input type="search" value={typed} placeholder={t("gallery.search")} aria-label={t("gallery.search")} maxLength={200} onChange={(event) => setTyped(event.target.value)} />
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly onValue: (value: string) => void;
}

function Choice({ label, value, values, onValue }: ChoiceProps): ReactNode {
  const t = useTexts();
  if (values.length < 2 && value === "") return null;
  return (
    <select aria-label={label} value={value} onChange={(event) => onValue(event.target.value)}>
      <option value="">{label}: {t("gallery.any")}</option>
      {values.map((one) => <option key={one} value={one}>{one}</option>)}
    </select>
  );
}

/** The kinds and workflows that were seen so far: a filter does not take away what one would choose next. */
function useKnown(): { readonly kinds: readonly string[]; readonly workflows: readonly string[] } {
  const outputs = useGallery((state) => state.outputs);
  const [seen] = useState(() => ({ kinds: new Set<string>(), workflows: new Set<string>() }));
  return useMemo(() => {
    for (const one of outputs) {
      seen.kinds.add(one.kind);
      if (one.workflow !== "") seen.workflows.add(one.workflow);
    }
    return { kinds: [...seen.kinds].sort(), workflows: [...seen.workflows].sort() };
  }, [outputs, seen]);
}
