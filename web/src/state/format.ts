/** Times, sizes and values as people read them, in the language of the page. */

import { useLanguage } from "../texts";

/** Half a minute as "30 s", 83 seconds as "1 min 23 s", a tenth as "0.10 s". */
export function secondsText(seconds: number): string {
  if (seconds < 0.0995) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${oneDigit(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** An estimate: as exact as it can be meant, "0.4 s", "12 s", "40 s", "6 min", "2 h 10 min". */
export function aboutText(seconds: number): string {
  if (seconds < 20) return secondsText(seconds);
  const step = seconds < 120 ? 5 : seconds < 3600 ? 60 : 600;
  const near = Math.round(seconds / step) * step;
  const rest = near % 3600;
  if (near < 60) return `${near} s`;
  if (near < 120) return secondsText(near).replace(/ 0 s$/, "");
  if (near < 3600) return `${near / 60} min`;
  return `${Math.floor(near / 3600)} h${rest === 0 ? "" : ` ${rest / 60} min`}`;
}

const SIZES = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** Bytes in the unit that suits them, in the language that is shown. */
export function sizeText(bytes: number): string {
  const step = Math.min(SIZES.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  const format: Intl.NumberFormatOptions = { style: "unit", unit: SIZES[step] ?? "byte", unitDisplay: step === 0 ? "long" : "short", maximumSignificantDigits: 3 };
  return new Intl.NumberFormat(useLanguage.getState().language, format).format(bytes / 1000 ** step);
}

function oneDigit(value: number): string {
  return value.toLocaleString(useLanguage.getState().language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

export function clockText(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString(useLanguage.getState().language, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** A plain value in one line. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return JSON.stringify(value) ?? "";
}
