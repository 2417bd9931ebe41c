import { type Missing, packsOf } from "../state/missing";
import { useTexts } from "../texts";

/** What is missing, and what to do about it. */
export function MissingTexts({ types, models }: Missing): React.ReactNode {
  const t = useTexts();
  const packs = packsOf(types);
  return (
    <>
      {types.length > 0 && (
        <p>
          <strong>{t("documents.missing_types", { names: types.join(", ") })}</strong>{" "}
          {packs.length > 0 ? t("documents.missing_types_pack", { packs: packs.join(", ") }) : t("documents.missing_types_unknown")}
        </p>
      )}
      {models.length > 0 && (
        <p>
          <strong>{t("documents.missing_models", { names: models.join(", ") })}</strong> {t("documents.missing_models_do")}
        </p>
      )}
    </>
  );
}
