// Checks boards against Grafana's types of its dashboard schema: node check.mjs BOARD.json ...
//
// Each board becomes the value of a constant of type Board (schema.d.ts), and the TypeScript compiler
// tells where it differs: fields that there are not, of the wrong type, or missing. The same is done
// with copies of the first board, each broken in one place: the compiler must find each of them.
// check.sh brings what this needs.

import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = dirname(fileURLToPath(import.meta.url));
const head = 'import type { Board } from "./schema.d.ts";\nexport const board: Board =\n';
const headLines = head.split("\n").length - 1;

/** The first panel of a kind. */
const panel = (board, kind) => board.panels.find((it) => it.type === kind);
/** What breaks a board. */
const breaks = {
  "no schemaVersion": (board) => delete board.schemaVersion,
  "a cursor that there is not": (board) => (board.graphTooltip = 7),
  "a kind that there is not": (board) => (panel(board, "timeseries").type = "timeserie"),
  "a height that is a text": (board) => (panel(board, "timeseries").gridPos.h = "8"),
  "an option that there is not": (board) => (panel(board, "timeseries").options.legends = {}),
  "a field that there is not": (board) => (panel(board, "timeseries").fieldConfig.defaults.units = "s"),
  "a style that there is not": (board) =>
    (panel(board, "timeseries").fieldConfig.defaults.custom.drawStyle = "lines"),
  "a legend that is missing": (board) => delete panel(board, "timeseries").options.legend,
  "a query without a refId": (board) => delete panel(board, "timeseries").targets[0].refId,
};

/** By the path of a module: where its text comes from, the text, and whether it is right. */
const modules = new Map();
const add = (name, path, text, isRight) =>
  modules.set(join(here, `${name}.board.ts`), { path, text: head + text, isRight });
const paths = process.argv.slice(2);
if (paths.length === 0) {
  console.error("usage: node check.mjs BOARD.json ...");
  process.exit(2);
}
for (const path of paths) {
  add(basename(path, ".json"), path, readFileSync(path, "utf8"), true);
}
for (const [what, change] of Object.entries(breaks)) {
  const board = JSON.parse(readFileSync(paths[0], "utf8"));
  change(board);
  add(what.replaceAll(" ", "-"), `a board with ${what}`, JSON.stringify(board), false);
}

const options = {
  allowImportingTsExtensions: true,
  exactOptionalPropertyTypes: false,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  target: ts.ScriptTarget.ES2022,
  types: [],
};
const host = ts.createCompilerHost(options);
const { fileExists, readFile } = host;
host.fileExists = (path) => modules.has(path) || fileExists.call(host, path);
host.readFile = (path) => modules.get(path)?.text ?? readFile.call(host, path);

const program = ts.createProgram([...modules.keys()], options, host);
let differences = 0;
const unseen = new Set([...modules.values()].filter((it) => !it.isRight));
for (const { file, start, messageText } of ts.getPreEmitDiagnostics(program)) {
  const board = file && modules.get(file.fileName);
  if (board && !board.isRight) {
    unseen.delete(board);
    continue;
  }
  differences += 1;
  const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line : 0;
  const where = board ? `${board.path}:${Math.max(line - headLines, 0) + 1}` : file?.fileName;
  console.error(`${where}: ${ts.flattenDiagnosticMessageText(messageText, "\n    ")}`);
}
for (const { path } of unseen) {
  differences += 1;
  console.error(`${path} passes: this check is worth nothing`);
}
console.log(`${paths.length} boards, ${differences} differences from Grafana's schema`);
process.exit(differences === 0 ? 0 : 1);
