import { expect, test } from "vitest";

import colours from "../canvas/colours.css?raw";
import tokens from "./tokens.css?raw";

type Theme = "light" | "dark";

function colour(name: string, theme: Theme): string {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(tokens + colours);
  if (found === null) throw new Error(`there is no colour --${name}`);
  return found[theme === "light" ? 1 : 2] ?? "";
}

/** WCAG 2.2, "relative luminance". */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["ground", "surface", "surface-2"];
const COLOURS = ["grey", "red", "orange", "yellow", "green", "teal", "blue", "purple", "pink"].map((name) => `c-${name}`);

const pairs = (["light", "dark"] as const).flatMap((theme) => [
  ...["text", "text-2", "accent", "good", "warn", "bad"].flatMap((text) => GROUNDS.map((ground) => [theme, text, ground, 4.5] as const)),
  [theme, "on-accent", "accent", 4.5] as const,
  [theme, "text", "accent-ground", 4.5] as const,
  [theme, "accent", "accent-ground", 4.5] as const,
  [theme, "text-2", "accent-ground", 4.5] as const,
  ...["line-strong", ...COLOURS].flatMap((line) => GROUNDS.map((ground) => [theme, line, ground, 3] as const)),
]);

test.each(pairs)("%s: %s on %s has a contrast of %d", (theme, front, back, least) => {
  expect(contrast(colour(front, theme), colour(back, theme))).toBeGreaterThanOrEqual(least);
});

test("the formula gives the known ratios", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
});
