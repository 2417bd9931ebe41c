/**
 * How much script the page needs at first: `node scripts/size.mjs [folder of the build]`, after `npm run build`.
 *
 * What index.html loads and preloads, and everything that is imported by it statically, gzipped. Fails above the bar.
 */

import { readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const MOST_BYTES = 220_000;

/** By file: gzipped bytes of what index.html loads and preloads, and of everything imported by that statically. */
export function firstLoad(dist) {
  const index = readFileSync(join(dist, "index.html"), "utf8");
  const found = new Map();
  const follow = (name) => {
    if (found.has(name)) return;
    const code = readFileSync(join(dist, name));
    found.set(name, gzipSync(code, { level: 9 }).length);
    for (const [, from] of code.toString().matchAll(/(?:^|[;}])\s*(?:import|export)\s*(?:[\w$*{][^"'()]*?from\s*)?["'](\.[^"']+)["']/gm)) follow(posix.join(posix.dirname(name), from));
  };
  for (const [tag] of index.matchAll(/<(?:script|link)\b[^>]*>/g)) {
    const address = /(?:src|href)="\/([^"]+\.js)"/.exec(tag)?.[1];
    if (address !== undefined) follow(address);
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = firstLoad(process.argv[2] ?? join(dirname(dirname(fileURLToPath(import.meta.url))), "dist"));
  const sum = [...found.values()].reduce((all, bytes) => all + bytes, 0);
  for (const [name, bytes] of found) console.log(`${(bytes / 1000).toFixed(1).padStart(7)} kB  ${name}`);
  console.log(`${(sum / 1000).toFixed(1).padStart(7)} kB  together, of at most ${MOST_BYTES / 1000}`);
  if (found.size === 0 || sum > MOST_BYTES) process.exitCode = 1;
}
