/** Keys as commands name them ("Mod+Shift+K"): from an event, in one spelling, and as they are shown. */

import { type Language, useLanguage } from "../texts";

/** On a Mac, Mod is Cmd; elsewhere Ctrl. */
function onMac(): boolean {
  return typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
}

const ORDER = ["Mod", "Ctrl", "Alt", "Shift"];

/** The same keys in one spelling: "shift+mod+k" is "Mod+Shift+K". */
export function spelled(keys: string): string {
  const parts = keys.endsWith("++") ? [...keys.slice(0, -2).split("+"), "+"] : keys === "+" ? ["+"] : keys.split("+");
  const key = parts.at(-1) ?? "";
  const held = parts.slice(0, -1).map((part) => part.charAt(0).toUpperCase() + part.slice(1).toLowerCase());
  return [...ORDER.filter((name) => held.includes(name)), named(key)].join("+");
}

function named(key: string): string {
  if (key === " ") return "Space";
  return key.length === 1 ? key.toUpperCase() : key;
}

type Pressed = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/**
 * What was pressed, in the spellings a command may use: by the sign it makes ("?", where Shift is part of making it), and by
 * the place of the key ("Shift+1"; the letters of keyboards that have no Latin ones).
 */
export function spellings(event: Pressed, mac = onMac()): readonly string[] {
  const held = {
    Mod: mac ? event.metaKey : event.ctrlKey,
    Ctrl: mac && event.ctrlKey,
    Alt: event.altKey,
    Shift: event.shiftKey,
  };
  const spell = (key: string, shift: boolean): string =>
    [...ORDER.filter((name) => (name === "Shift" ? shift : held[name as keyof typeof held])), named(key)].join("+"); // all others are
  const isSign = event.key.length === 1 && event.key !== " " && !/[a-z]/i.test(event.key);
  const found = isSign ? [spell(event.key, false), spell(event.key, event.shiftKey)] : [spell(event.key, event.shiftKey)];
  const place = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(event.code);
  const isLatin = /^[a-z]$/i.test(event.key);
  if (place !== null && !isLatin) found.push(spell(place[1] ?? place[2] ?? "", event.shiftKey));
  return [...new Set(found)];
}

const ON_MAC: { readonly [key: string]: string } = { Mod: "⌘", Ctrl: "⌃", Alt: "⌥", Shift: "⇧" };
const SHOWN: { readonly [key: string]: string } = {
  ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", Delete: "Del", " ": "Space",
  PageUp: "PgUp", PageDown: "PgDn", ContextMenu: "Menu",
};
/** As they stand on the keyboards sold where the language is spoken. */
const PRINTED: { readonly [L in Language]?: { readonly [key: string]: string } } = {
  de: {
    Ctrl: "Strg", Shift: "Umschalt", Delete: "Entf", Home: "Pos1", End: "Ende", Enter: "Eingabe", Backspace: "Rück", Space: "Leertaste",
    PageUp: "Bild↑", PageDown: "Bild↓", ContextMenu: "Menü",
  },
};

/** The keys as one reads them: "Ctrl+Shift+K", on a Mac "⌘⇧K". */
export function shownKeys(keys: string, mac = onMac(), language = useLanguage.getState().language): string {
  const parts = spelled(keys).split(/\+(?!$)/);
  const printed = (part: string): string => PRINTED[language]?.[part] ?? SHOWN[part] ?? part;
  return parts
    .map((part) => (mac ? (ON_MAC[part] ?? SHOWN[part] ?? part) : printed(part === "Mod" ? "Ctrl" : part)))
    .join(mac ? "" : "+");
}
