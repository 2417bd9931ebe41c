/**
 * All texts of the page, by area and key: `t("edit.undo")`, `t("run.took", { seconds: 2.3 })` for "took {seconds} s".
 *
 * An area is a file in each language's folder; English is complete by type, and so is every other language. Ids of node
 * types and ports, and the sentences of the server, are not translated.
 */

import { create } from "zustand";

import deCanvas from "./de/canvas";
import deColours from "./de/colours";
import deCommands from "./de/commands";
import deDocuments from "./de/documents";
import deEdit from "./de/edit";
import deGallery from "./de/gallery";
import deInspector from "./de/inspector";
import deLayout from "./de/layout";
import deNodes from "./de/nodes";
import dePalette from "./de/palette";
import deParameters from "./de/parameters";
import deRun from "./de/run";
import deSettings from "./de/settings";
import deWidgets from "./de/widgets";
import enCanvas from "./en/canvas";
import enColours from "./en/colours";
import enCommands from "./en/commands";
import enDocuments from "./en/documents";
import enEdit from "./en/edit";
import enGallery from "./en/gallery";
import enInspector from "./en/inspector";
import enLayout from "./en/layout";
import enNodes from "./en/nodes";
import enPalette from "./en/palette";
import enParameters from "./en/parameters";
import enRun from "./en/run";
import enSettings from "./en/settings";
import enWidgets from "./en/widgets";

const en = {
  canvas: enCanvas,
  colours: enColours,
  commands: enCommands,
  documents: enDocuments,
  edit: enEdit,
  gallery: enGallery,
  inspector: enInspector,
  layout: enLayout,
  nodes: enNodes,
  palette: enPalette,
  parameters: enParameters,
  run: enRun,
  settings: enSettings,
  widgets: enWidgets,
} as const;
const de: Texts = {
  canvas: deCanvas,
  colours: deColours,
  commands: deCommands,
  documents: deDocuments,
  edit: deEdit,
  gallery: deGallery,
  inspector: deInspector,
  layout: deLayout,
  nodes: deNodes,
  palette: dePalette,
  parameters: deParameters,
  run: deRun,
  settings: deSettings,
  widgets: deWidgets,
};

type Areas = typeof en;
type Texts = { readonly [A in keyof Areas]: { readonly [K in keyof Areas[A]]: string } };
export type TextKey = { [A in keyof Areas & string]: `${A}.${keyof Areas[A] & string}` }[keyof Areas & string];

export const LANGUAGES = { en, de } as const;
export type Language = keyof typeof LANGUAGES;

interface Chosen {
  readonly language: Language;
  choose(language: Language): void;
}

export const useLanguage = create<Chosen>()((set) => ({
  language: "en",
  choose(language) {
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
  const [area, name] = key.split(".") as [keyof Texts, string];
  const text = (LANGUAGES[language][area] as { readonly [name: string]: string })[name] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, found: string) => String(values[found] ?? whole));
}
