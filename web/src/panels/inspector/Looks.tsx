/** State and colour of what is selected. */

import type { ReactNode } from "react";

import { colourSelection } from "../../commands/colouring";
import { type Here, apply, chosenNodes } from "../../commands/here";
import { COLOURS } from "../../model/document";
import { setNodeState } from "../../model/edit";
import { useTexts } from "../../texts";
import { Choice } from "../../ui/Field";
import { Icon } from "../../ui/icons";
import styles from "./Inspector.module.css";

export function StateChoice({ at }: { readonly at: Here }): ReactNode {
  const t = useTexts();
  const nodes = chosenNodes(at);
  const states = new Set(nodes.map((id) => at.scope.nodes[id]?.state ?? "active"));
  const [only] = states.size === 1 ? states : ["mixed" as const];
  const hints = { active: undefined, muted: t("inspector.muted_hint"), bypassed: t("inspector.bypassed_hint"), mixed: t("inspector.mixed_hint") };
  const hint = hints[only ?? "active"];
  return (
    <Choice
      label={t("inspector.state")} value={only ?? "active"}
      options={[
        { value: "active", title: t("inspector.active") },
        { value: "muted", title: t("inspector.muted") },
        { value: "bypassed", title: t("inspector.bypassed") },
      ]}
      onChange={(state) => apply("inspector.state", setNodeState(at.scopeId, nodes, state === "muted" || state === "bypassed" ? state : null))}
      {...(hint === undefined ? {} : { hint })}
    />
  );
}

/** `now`: the colours of what is selected. */
export function ColourChoice({ now }: { readonly now: readonly (string | undefined)[] }): ReactNode {
  const t = useTexts();
  const only = now.every((one) => one === now[0]) ? (now[0] ?? null) : undefined;
  return (
    <fieldset className={styles["swatches"]} role="radiogroup" aria-label={t("edit.colour")}>
      <legend>{t("edit.colour")}</legend>
      {[null, ...COLOURS].map((color) => (
        <button
          key={color ?? "none"} type="button" role="radio" aria-checked={color === only}
          className={`${styles["swatch"]} ${color === null ? styles["none"] : ""}`} title={color === null ? t("edit.no_colour") : t(`colours.${color}`)}
          aria-label={color === null ? t("edit.no_colour") : t(`colours.${color}`)}
          style={color === null ? {} : { background: `var(--c-${color})` }} onClick={() => colourSelection(color)}
        >
          {color === only && color !== null && <Icon name="check" size={14} />}
          {color === null && <Icon name="close" size={12} />}
        </button>
      ))}
    </fieldset>
  );
}
