/**
 * Asks the page's model, for tests of the server that compare the two: questions as JSON on stdin, answers on stdout.
 *
 * {"catalogue": the answer of GET /v1/nodes, "judge": [{document, scope, from, to}], "read": [text]} gives
 * {"judge": [verdict], "read": [{text} or {flaws}]}; documents are workflow texts.
 */

import { fileURLToPath } from "node:url";

import { createServer } from "vite";

const questions = JSON.parse(await new Response(process.stdin).text());
const root = fileURLToPath(new URL("..", import.meta.url));
const vite = await createServer({
  root, configFile: false, appType: "custom", logLevel: "error", optimizeDeps: { noDiscovery: true, include: [] },
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
});
try {
  const { judge } = await vite.ssrLoadModule("/src/model/connect.ts");
  const { readDocument } = await vite.ssrLoadModule("/src/model/read.ts");
  const { writeDocument } = await vite.ssrLoadModule("/src/model/canonical.ts");
  const read = (text) => {
    const found = readDocument(text);
    return "flaws" in found ? { flaws: found.flaws } : { text: writeDocument(found.document) };
  };
  const catalogue = questions.catalogue === undefined ? null : made(questions.catalogue);
  const verdict = ({ document, scope, from, to }) => judge(readDocument(document).document, scope, catalogue, from, to);
  const answers = { judge: (questions.judge ?? []).map(verdict), read: (questions.read ?? []).map(read) };
  process.stdout.write(JSON.stringify(answers));
} finally {
  await vite.close();
}

function made({ version, nodes, types, fits }) {
  const byId = new Map(nodes.flatMap((type) => [...type.was.map((was) => [was, type]), [type.id, type]]));
  return { version, types: byId, plain: new Set(types.filter((type) => type.plain).map((type) => type.name)), fits };
}
