/**
 * What the page remembers for its user: looks, habits, node types used. Kept by the server as one object, of which other
 * members are left as they are; a copy in this browser gives the first paint its theme and outlasts a server that is away.
 */

import { create } from "zustand";

import type { Json, JsonObject } from "../model/document";
import { isObject } from "../model/document";
import { LANGUAGES, type Language, useLanguage } from "../texts";

export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  readonly language: Language;
  /** Whether pictures are shown while sampling. */
  readonly previews: boolean;
  /** Whether pictures that a run made are shown below their nodes. */
  readonly results: boolean;
  readonly minimap: boolean;
  /** Whether nodes that are moved snap to the grid. */
  readonly snap: boolean;
  /** What turning the wheel does on the canvas. */
  readonly wheel: "zoom" | "pan";
  /** What dragging the ground with the left button does on the canvas. */
  readonly drag: "select" | "pan";
  readonly textSize: "s" | "m" | "l";
  /** Node types added last, the latest first. */
  readonly recentTypes: readonly string[];
  /** How often each node type was added. */
  readonly typeUses: { readonly [type: string]: number };
}

const DEFAULTS: Preferences = {
  theme: "system", language: ofBrowser(), previews: true, results: true, minimap: true, snap: true, wheel: "zoom", drag: "select", textSize: "m",
  recentTypes: [], typeUses: {},
};

/** The first language of the browser that the page has; else English. */
function ofBrowser(): Language {
  const asked = typeof navigator === "undefined" ? [] : (navigator.languages ?? []);
  const found = asked.map((name) => LANGUAGES.find((one) => name.toLowerCase().split("-")[0] === one));
  return found.find((one) => one !== undefined) ?? "en";
}

/** Where the server keeps them: the two ways of asking, so that tests can stand in for it. */
export interface Keeper {
  read(): Promise<{ readonly values: JsonObject; readonly etag: string }>;
  /** Keep the whole object over the version named; "changed" if another is there. */
  save(values: JsonObject, etag: string): Promise<{ readonly etag: string } | "changed">;
}

interface State extends Preferences {
  set(part: Partial<Preferences>): void;
}

const CACHE = "latentgraph.preferences";
const PAUSE_MS = 600;

let keeper: Keeper | null = null;
let etag = "";
/** What the server keeps, whole: members this page does not know are sent back as they came. */
let kept: JsonObject = {};
/** Members changed here that the server has not taken yet. */
const changed = new Set<keyof Preferences>();
let timer: ReturnType<typeof setTimeout> | undefined;
let sending: Promise<void> = Promise.resolve();

export const usePreferences = create<State>()((set) => ({
  ...DEFAULTS,
  ...readCache(),
  set(part) {
    set(part);
    for (const name of Object.keys(part)) changed.add(name as keyof Preferences); // its own names
    writeCache();
    plan();
  },
}));

export function preferences(): Preferences {
  return usePreferences.getState();
}

/** Remember that a node of this type was added. */
export function noteUse(type: string): void {
  const { recentTypes, typeUses, set } = usePreferences.getState();
  set({
    recentTypes: [type, ...recentTypes.filter((one) => one !== type)].slice(0, 12),
    typeUses: trimmed({ ...typeUses, [type]: (typeUses[type] ?? 0) + 1 }),
  });
}

/** The hundred most used: what is kept stays small. */
function trimmed(uses: { readonly [type: string]: number }): { readonly [type: string]: number } {
  const all = Object.entries(uses);
  return all.length <= 100 ? uses : Object.fromEntries(all.sort((a, b) => b[1] - a[1]).slice(0, 100));
}

// ---- the server

/** Read what the server keeps and keep it up to date there from now on. What was changed here meanwhile wins. */
export async function syncPreferences(with_: Keeper): Promise<void> {
  keeper = with_;
  await fetchKept();
  if (changed.size > 0) await sendPreferences();
}

/** Send what has changed now; used by tests and before the page goes. */
export function sendPreferences(): Promise<void> {
  clearTimeout(timer);
  sending = sending.then(send, send);
  return sending;
}

async function fetchKept(): Promise<void> {
  if (keeper === null) return;
  const found = await keeper.read();
  etag = found.etag;
  kept = found.values;
  const theirs = understood(found.values);
  const part = Object.fromEntries(Object.entries(theirs).filter(([name]) => !changed.has(name as keyof Preferences))); // `understood` knows no others
  usePreferences.setState(part);
  writeCache();
}

async function send(): Promise<void> {
  if (keeper === null) return;
  for (let tries = 0; changed.size > 0 && tries < 4; tries++) {
    const names = [...changed];
    const state = usePreferences.getState();
    const values = { ...kept, ...Object.fromEntries(names.map((name) => [name, state[name]])) };
    const answer = await keeper.save(values, etag);
    if (answer === "changed") {
      await fetchKept();
      continue;
    }
    etag = answer.etag;
    kept = values;
    for (const name of names) if (usePreferences.getState()[name] === state[name]) changed.delete(name);
    writeCache();
  }
}

function plan(): void {
  clearTimeout(timer);
  // A server that is away is asked again at the next change; the copy in this browser has it until then.
  timer = setTimeout(() => void sendPreferences().catch(() => undefined), PAUSE_MS);
}

// ---- this browser

function readCache(): Partial<Preferences> {
  try {
    const found = JSON.parse(localStorage.getItem(CACHE) ?? "{}") as Json; // JSON is what it is
    if (!isObject(found)) return {};
    for (const name of Array.isArray(found["unsent"]) ? found["unsent"] : []) {
      if (typeof name === "string" && name in DEFAULTS) changed.add(name as keyof Preferences); // one of them
    }
    return understood(isObject(found["values"]) ? found["values"] : {});
  } catch {
    return {}; // storage that is closed or damaged: the defaults do
  }
}

function writeCache(): void {
  const state = usePreferences.getState();
  const values = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, state[name as keyof Preferences]])); // its own names
  try {
    localStorage.setItem(CACHE, JSON.stringify({ values, unsent: [...changed] }));
  } catch {
    // storage that is closed or full: the server has them
  }
}

/** The members this page knows, as far as their values make sense. */
function understood(values: JsonObject): Partial<Preferences> {
  const known: { [name: string]: Json } = {};
  const keep = (name: keyof Preferences, fits: (value: Json) => boolean): void => {
    const value = values[name];
    if (value !== undefined && fits(value)) known[name] = value;
  };
  const oneOf = (...options: string[]) => (value: Json): boolean => typeof value === "string" && options.includes(value);
  const truth = (value: Json): boolean => typeof value === "boolean";
  keep("theme", oneOf("system", "light", "dark"));
  keep("language", oneOf(...LANGUAGES));
  keep("previews", truth);
  keep("results", truth);
  keep("minimap", truth);
  keep("snap", truth);
  keep("wheel", oneOf("zoom", "pan"));
  keep("drag", oneOf("select", "pan"));
  keep("textSize", oneOf("s", "m", "l"));
  keep("recentTypes", (value) => Array.isArray(value) && value.every((one) => typeof one === "string"));
  keep("typeUses", (value) => isObject(value) && Object.values(value).every((one) => typeof one === "number"));
  return known;
}

// ---- the page

function show({ theme, language, textSize }: Preferences): void {
  if (typeof document === "undefined") return;
  const root = document.documentElement;
  if (theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
  root.dataset["text"] = textSize;
  if (language === shownLanguage) return;
  shownLanguage = language;
  // Texts that cannot be fetched: what is shown stays, and the next change of any preference tries again.
  texts = useLanguage.getState().choose(language).catch(() => {
    shownLanguage = null;
  });
}

let shownLanguage: Language | null = null;
let texts: Promise<void> = Promise.resolve();

/** Resolves when the texts of the language chosen are there. */
export function whenTexts(): Promise<void> {
  return texts;
}

usePreferences.subscribe(show);
show(usePreferences.getState());
