/** Numbers as people read them, in their language. */

export function bytes(count: number, language: string): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const step = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3));
  const format: Intl.NumberFormatOptions = { style: "unit", unit: units[step] ?? "byte", unitDisplay: step === 0 ? "long" : "short", maximumSignificantDigits: 3 };
  return new Intl.NumberFormat(language, format).format(count / 1000 ** step);
}

/** A time in seconds since 1970. */
export function moment(seconds: number, language: string, dateStyle: "short" | "medium" = "medium"): string {
  return new Date(seconds * 1000).toLocaleString(language, { dateStyle, timeStyle: "short" });
}
