/**
 * Writes src/api/schema.d.ts: the types of the server's interface, made from its OpenAPI document.
 *
 * `npm run types` after a change of a route; `npm run types -- --check` says whether the committed file is current. The
 * document comes from the routes themselves (Python is asked, no server runs); its SHA-256 stands in the first line, so
 * that a test without Node can tell whether the file is current too (tests/web/test_page_types.py).
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import openapiTS, { astToString } from "openapi-typescript";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(web);
const file = join(web, "src", "api", "schema.d.ts");

/** Also in tests/web/test_page_types.py. */
const DOCUMENT = `
import json
from server.api.openapi import openapi_document
from server.api.table import whole_table
print(json.dumps(openapi_document(whole_table().bindings, "0"), sort_keys=True))
`;

function python() {
  const own = join(root, ".venv", "bin", "python");
  return process.env["PYTHON"] ?? (existsSync(own) ? own : "python3");
}

/** Every refusal is a `Problem` to the page (api/http.ts); listing them for each route makes the file four times as long. */
function withoutRefusals(whole) {
  for (const methods of Object.values(whole.paths)) {
    for (const operation of Object.values(methods)) {
      operation.responses = Object.fromEntries(Object.entries(operation.responses).filter(([status]) => Number(status) < 300));
    }
  }
  return whole;
}

const document = execFileSync(python(), ["-c", DOCUMENT], { cwd: root, encoding: "utf8", maxBuffer: 64 << 20 }).trim();
const digest = createHash("sha256").update(document).digest("hex");
const types = astToString(await openapiTS(withoutRefusals(JSON.parse(document)), { alphabetize: true, defaultNonNullable: false }));
const text = `/* Made by \`npm run types\` from the OpenAPI document with SHA-256 ${digest}. Not to be edited. */\n\n${types}`;

if (process.argv.includes("--check")) {
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error("src/api/schema.d.ts is not what the server's routes say. Run: npm run types");
    process.exit(1);
  }
} else {
  writeFileSync(file, text);
}
