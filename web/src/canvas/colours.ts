/** Which colour a wire type has, and what the names of colours look like now. */

import "./colours.css";

import type { CSSProperties } from "react";

import { COLOURS } from "../model/document";
import { elementType } from "../model/measure";

export type Colour = (typeof COLOURS)[number];

const KNOWN: { readonly [type: string]: Colour } = {
  Image: "blue", Mask: "green", Latents: "pink", TextEmbedding: "orange", TextEncoder: "yellow", Tokenizer: "yellow", Tokens: "orange",
  Denoiser: "purple", Vae: "red", Scheduler: "teal", StepCache: "teal", Curve: "teal", text: "green", int: "grey", float: "grey", bool: "grey",
};

/** The colour of a wire type; types of packs get one by their name, the same everywhere. */
export function colourOf(type: string): Colour {
  const name = elementType(type);
  if (/^[A-Z]$/.test(name)) return "grey";
  const known = KNOWN[name];
  if (known !== undefined) return known;
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return COLOURS[1 + (sum % (COLOURS.length - 1))] ?? "grey";
}

/** For styles: the colour by its name in the document, or undefined for none and for names we do not know. */
export function cssColour(name: string | undefined): string | undefined {
  return COLOURS.some((one) => one === name) ? `var(--c-${name})` : undefined;
}

/** The style that gives an item's box its colour. */
export function coloured(colour: string): CSSProperties {
  return { "--node": colour } as CSSProperties; // custom properties are not in the type
}

export function cssType(type: string): string {
  return `var(--c-${colourOf(type)})`;
}

export interface Palette {
  readonly ground: string;
  readonly surface: string;
  readonly header: string;
  readonly line: string;
  readonly text: string;
  readonly quiet: string;
  readonly accent: string;
  readonly by: { readonly [colour: string]: string };
}

/** The colours as a drawing context takes them, for the theme that is shown at `element`. */
export function paletteAt(element: HTMLElement): Palette {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const by = Object.fromEntries(COLOURS.map((name) => [name, read(`c-${name}`)]));
  const palette = {
    ground: read("ground"), surface: read("surface"), header: read("surface-2"), line: read("line-strong"), text: read("text"),
    quiet: read("text-2"), accent: read("accent"), by,
  };
  probe.remove();
  return palette;
}
