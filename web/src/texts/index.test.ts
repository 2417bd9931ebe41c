import { afterEach, expect, test } from "vitest";

import { t, useLanguage } from ".";

const choose = (language: "en" | "de"): Promise<void> => useLanguage.getState().choose(language);

afterEach(() => choose("en"));

test("another language is shown once its texts are there", async () => {
  const english = t("layout.close_dialog");
  const chosen = choose("de");
  expect(t("layout.close_dialog")).toBe(english);
  await chosen;
  expect(t("layout.close_dialog")).not.toBe(english);
});

test("the language chosen last is shown, whichever comes first", async () => {
  await Promise.all([choose("de"), choose("en")]);
  expect(useLanguage.getState().language).toBe("en");
});
