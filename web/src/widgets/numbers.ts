/** Numbers as they are typed: read, checked against what the port takes, stepped. */

import type { Hint, InputPort } from "../model/catalogue";
import type { Json } from "../model/document";

export type Reading = { readonly value: number | undefined } | { readonly flaw: "number" | "whole" | "range" };
type Range = Hint & { hint: "range" };

const LARGEST = Number.MAX_SAFE_INTEGER;

export function rangeOf(port: InputPort): Range | undefined {
  return port.hint?.hint === "range" ? port.hint : undefined;
}

/** What was typed, as a value for the port; empty: the default. A comma may stand for the point. */
export function readNumber(port: InputPort, typed: string): Reading {
  const text = typed.trim().replace(/^([+-]?\d*),(\d+)$/, "$1.$2");
  if (text === "") return { value: undefined };
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return { flaw: "number" };
  const value = Number(text);
  if (port.type === "int" && (!Number.isInteger(value) || Math.abs(value) > LARGEST)) return { flaw: "whole" };
  const range = rangeOf(port);
  if (range !== undefined && (value < range.low || value > range.high)) return { flaw: "range" };
  return { value };
}

export function stepOf(port: InputPort): number {
  const range = rangeOf(port);
  if (range?.step != null) return range.step;
  if (port.type === "int") return 1;
  return range !== undefined && range.high - range.low <= 2 ? 0.01 : 0.1;
}

/** The value some steps further, on the grid of steps and within the range. */
export function stepped(port: InputPort, from: number, steps: number): number {
  const step = stepOf(port);
  const range = rangeOf(port);
  const next = Math.round((from + steps * step) / step) * step;
  const within = range === undefined ? next : Math.min(range.high, Math.max(range.low, next));
  return Number(within.toFixed(10));
}

/** How far in its range a value lies, 0 to 1; undefined without a range worth drawing. */
export function partOf(port: InputPort, value: Json | undefined): number | undefined {
  const range = rangeOf(port);
  if (range === undefined || typeof value !== "number") return undefined;
  return Math.min(1, Math.max(0, (value - range.low) / (range.high - range.low)));
}

/** A list as it is typed: texts one per line, numbers between commas or lines. Undefined: something is no number. */
export function readList(element: string, typed: string): readonly Json[] | undefined {
  if (element === "text") return typed === "" ? [] : typed.split("\n");
  const words = typed.split(/[\s,;]+/).filter((word) => word !== "");
  if (element === "bool") return words.every((word) => word === "true" || word === "false") ? words.map((word) => word === "true") : undefined;
  const numbers = words.map(Number);
  const isRight = (one: number): boolean => (element === "int" ? Number.isSafeInteger(one) : Number.isFinite(one));
  return numbers.every(isRight) ? numbers : undefined;
}

export function writeList(value: Json | undefined): string {
  if (!Array.isArray(value)) return "";
  return value.every((one) => typeof one === "string") ? value.join("\n") : value.join(", ");
}
