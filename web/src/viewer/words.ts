/** Times as people read them, in their language. */

/** A time in seconds since 1970. */
export function moment(seconds: number, language: string, dateStyle: "short" | "medium" = "medium"): string {
  return new Date(seconds * 1000).toLocaleString(language, { dateStyle, timeStyle: "short" });
}
