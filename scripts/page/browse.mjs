// Opens pages in Chromium and says what is wrong with them: `browse.mjs CHROMIUM PROFILE PAGE...`, run where playwright-core and
// axe-core are installed. Before that it breaks the first page in each way of `broken.mjs`, and fails where one is not seen.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { breakages } from "./broken.mjs";
import { findings } from "./checks.mjs";

const require = createRequire(process.cwd() + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [, , executablePath, profile, ...pages] = process.argv;
const browser = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
// Nothing is fetched, whatever a page asks for.
await browser.route(/^(?!file:)/, (route) => route.abort());

let failed = false;
const original = readFileSync(pages[0], "utf8");
for (const { name, check, change } of breakages) {
  const broken = change(original);
  if (broken === original) throw new Error(`nothing is broken: ${name}`);
  const path = join(profile, "broken.html");
  writeFileSync(path, broken);
  const { found } = await findings(browser, path, axe);
  const isSeen = found.some((finding) => finding.startsWith(`${check}: `));
  if (!isSeen) {
    failed = true;
    console.error(`a broken page passes: ${name}`);
    found.forEach((finding) => console.error(`  seen instead: ${finding}`));
  }
}
console.log(`${breakages.length} broken pages: ${failed ? "not all are seen" : "each is seen"}`);

for (const path of pages) {
  const start = Date.now();
  const { found, told } = await findings(browser, path, axe);
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  console.log(`${path.split("/").at(-1)}: ${told}; ${found.length} findings, ${seconds} s`);
  found.forEach((finding) => console.error(`  ${finding}`));
  failed ||= found.length > 0;
}
await browser.close();
process.exit(failed ? 1 : 0);
