/** The flows that there are, as their files say. */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const SUFFIX = ".test.ts";

/** All flows of a folder, as "file: name". */
export function flowsOf(folder: string): string[] {
  return readdirSync(folder).filter((file) => file.endsWith(SUFFIX)).flatMap((file) =>
    [...readFileSync(join(folder, file), "utf8").matchAll(/^(?:flow|longFlow)\("(.*?)", /gm)].map(([, name]) => `${file.slice(0, -SUFFIX.length)}: ${name}`));
}
