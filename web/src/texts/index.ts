/**
 * All texts of the page, by area and key: `t("edit.undo")`, `t("run.took", { seconds: 2.3 })` for "took {seconds} s".
 *
 * An area is a file in each language's folder; English is complete by type, and so is every other language. English is there
 * from the beginning, others are fetched when they are chosen. Ids of node types and ports, and the sentences of the server,
 * are not translated.
 */

import { create } from "zustand";

import { en } from "./en";

type Areas = typeof en;
export type Texts = { readonly [A in keyof Areas]: { readonly [K in keyof Areas[A]]: string } };
export type TextKey = { [A in keyof Areas & string]: `${A}.${keyof Areas[A] & string}` }[keyof Areas & string];

export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The languages that are there. */
const loaded: { [L in Language]?: Texts } = { en };
const LOADERS: { readonly [L in Language]: () => Promise<Texts> } = {
  en: () => Promise.resolve(en),
  de: async () => (await import("./de")).de,
};

interface Chosen {
  readonly language: Language;
  /** Show the page in this language: once its texts are there, and if none was chosen since. Without them it stays as it is. */
  choose(language: Language): Promise<void>;
}

let wanted: Language = "en";

export const useLanguage = create<Chosen>()((set) => ({
  language: "en",
  async choose(language) {
    wanted = language;
    loaded[language] ??= await LOADERS[language]();
    if (wanted !== language) return;
    if (typeof document !== "undefined") document.documentElement.lang = language;
    set({ language });
  },
}));

export function t(key: TextKey, values: { readonly [name: string]: string | number } = {}): string {
  return textIn(useLanguage.getState().language, key, values);
}

/** For components: `t` that renders again when the language changes. */
export function useTexts(): typeof t {
  return IN[useLanguage((state) => state.language)];
}

/** The same function as long as the language is. */
const IN: { readonly [L in Language]: typeof t } = {
  en: (key, values = {}) => textIn("en", key, values),
  de: (key, values = {}) => textIn("de", key, values),
};

function textIn(language: Language, key: TextKey, values: { readonly [name: string]: string | number }): string {
  const [area, name] = key.split(".") as [keyof Texts, string]; // by the type of keys
  const text = ((loaded[language] ?? en)[area] as { readonly [name: string]: string })[name] ?? key; // every area is one
  return text.replace(/\{(\w+)\}/g, (whole, found: string) => String(values[found] ?? whole));
}
