/**
 * Exports that nobody uses, and circles of imports: `node scripts/unused.mjs`. Exits with 1 if there are any.
 *
 * Asks the TypeScript compiler for every use.
 */

import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import ts from "typescript";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const config = ts.getParsedCommandLineOfConfigFile(join(web, "tsconfig.json"), {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} });
const program = ts.createProgram(config.fileNames, config.options);
const checker = program.getTypeChecker();
const files = program.getSourceFiles().filter((file) => file.fileName.startsWith(join(web, "src")) && !file.isDeclarationFile);
const nameOf = (file) => relative(join(web, "src"), file.fileName);
const isTest = (file) => /\.test\.tsx?$|testing\.ts$|fakeServer\.ts$/.test(file.fileName);
/** Found by import.meta.glob, or the beginning. */
const isRegistered = (file) => /^(commands|bars)\/[^/]+$|^panels\/[^/]+\/panel\.ts$|^main\.tsx$|^vite/.test(nameOf(file));

function resolved(symbol) {
  return symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
}

const users = new Map();
/** Files that are fetched later: which of their exports are used then is not followed. */
const fetched = new Set();
function visit(node, file) {
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword && !isTest(file)) {
    fetched.add(checker.getSymbolAtLocation(node.arguments[0])?.declarations?.[0]);
  }
  if (ts.isIdentifier(node)) {
    let symbol = resolved(checker.getSymbolAtLocation(node));
    if (ts.isShorthandPropertyAssignment(node.parent)) symbol = resolved(checker.getShorthandAssignmentValueSymbol(node.parent));
    if (symbol !== undefined) {
      const uses = users.get(symbol) ?? new Map();
      users.set(symbol, uses.set(file, (uses.get(file) ?? 0) + 1));
    }
  }
  ts.forEachChild(node, (child) => visit(child, file));
}
for (const file of files) visit(file, file);

let count = 0;
for (const file of files.filter((one) => !isTest(one) && !fetched.has(one) && !nameOf(one).endsWith("no_colours.ts"))) {
  const module = checker.getSymbolAtLocation(file);
  if (module === undefined) continue;
  for (const symbol of checker.getExportsOfModule(module)) {
    if (symbol.name === "default" && isRegistered(file)) continue;
    const real = resolved(symbol);
    if (real.declarations?.every((one) => one.getSourceFile() !== file)) continue;
    const uses = users.get(real) ?? new Map();
    const others = [...uses.keys()].filter((other) => other !== file);
    const isUsedHere = (uses.get(file) ?? 0) > 1;
    // What its own file uses may be seen by tests; types may be named by whoever gets a value of them.
    if (others.some((other) => !isTest(other)) || (isUsedHere && (others.length > 0 || (real.flags & ts.SymbolFlags.Value) === 0))) continue;
    count++;
    console.log(`${nameOf(file)}: ${symbol.name} is ${isUsedHere ? "exported for nobody" : others.length > 0 ? "used by tests alone" : "used by nobody"}`);
  }
}

const imports = new Map(files.map((file) => [file, file.statements
  .filter((one) => (ts.isImportDeclaration(one) || ts.isExportDeclaration(one)) && one.moduleSpecifier !== undefined && !isOfTypes(one))
  .map((one) => checker.getSymbolAtLocation(one.moduleSpecifier)?.declarations?.[0])
  .filter((one) => one !== undefined && ts.isSourceFile(one) && files.includes(one))]));

/** Whether nothing of it is left when it runs. */
function isOfTypes(one) {
  if (ts.isExportDeclaration(one)) return one.isTypeOnly;
  const clause = one.importClause;
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  return clause.name === undefined && clause.namedBindings !== undefined && ts.isNamedImports(clause.namedBindings) && clause.namedBindings.elements.every((element) => element.isTypeOnly);
}

const done = new Set();
const told = new Set();
function circle(file, way) {
  const at = way.indexOf(file);
  if (at >= 0) {
    const names = way.slice(at).map(nameOf);
    const first = names.indexOf([...names].sort()[0]);
    told.add([...names.slice(first), ...names.slice(0, first), names[first]].join(" -> "));
    return;
  }
  if (done.has(file)) return;
  for (const next of imports.get(file) ?? []) circle(next, [...way, file]);
  done.add(file);
}
for (const file of files) circle(file, []);
for (const line of told) console.log(`circle: ${line}`);
if (count + told.size > 0) process.exitCode = 1;
