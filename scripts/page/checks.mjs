// What a page has to be, as a reader, a keyboard and a screen reader meet it.
import { pathToFileURL } from "node:url";

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 360, height: 740 };
const SCHEMES = ["light", "dark"];
/** Beyond these many equal findings nobody reads on. */
const MOST = 5;

/** Everything that is wrong with the page at a path, each as "CHECK: what", and what was looked at. */
export async function findings(browser, path, axe) {
  const page = await browser.newPage();
  const found = [];
  const report = (check) => (what) => found.push(`${check}: ${what}`);
  const address = pathToFileURL(path).href;
  page.on("request", (request) => {
    if (request.url() !== address) report("network")(request.url());
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) report("console")(message.text());
  });
  page.on("pageerror", (error) => report("console")(error));
  page.on("dialog", (dialog) => {
    report("script")(`${dialog.type()} ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.setViewportSize(WIDE);
  await page.goto(address);

  (await page.evaluate(acting)).forEach(report("script"));
  const numbers = await keyboard(page, report("keyboard"));
  await page.evaluate(axe);
  const cards = await oneOfEachVerdict(page);
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, "body", `${colorScheme}, closed`, report("axe"));
    for (const card of cards) {
      await page.locator(`[id="${card}"]`).evaluate((element) => element.showPopover());
      await accessible(page, `[id="${card}"]`, `${colorScheme}, ${card} open`, report("axe"));
      await page.keyboard.press("Escape");
    }
  }
  await page.setViewportSize(NARROW);
  (await page.evaluate(wider)).forEach(report("narrow"));
  (await page.evaluate(acting)).forEach(report("script"));
  if (page.url() !== address) report("script")(`the page has left for ${page.url()}`);
  await page.close();
  const unique = [...new Set(found)];
  const told = `${numbers} numbers by keys, ${cards.length} cards and the page in ${SCHEMES.join(" and ")}, ${NARROW.width} px`;
  return { found: unique, told };
}

/** In the page: what acts in it, or could. */
function acting() {
  const all = [...document.querySelectorAll("*")];
  const acts = all.filter((one) => one.matches("script,iframe,object,embed,link,base,form,template,img,video,audio"));
  const has = all.flatMap((one) => [...one.attributes].map((attribute) => [one, attribute]));
  const runs = has.filter(([, { name, value }]) => /^on|^style$|^autofocus$/.test(name) || /^\s*(javascript|data):/i.test(value));
  const { acted } = document.documentElement.dataset;
  return [
    ...acts.map((one) => `an element <${one.localName}>`),
    ...runs.map(([one, { name, value }]) => `<${one.localName} ${name}="${value.slice(0, 60)}">`),
    ...(acted === undefined ? [] : [`a script ran: ${acted}`]),
  ];
}

/** In the page: what is wider than the window, or than the card that it stands in. */
function wider() {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    found.push(`the page is ${root.scrollWidth} px wide in ${root.clientWidth} px`);
  }
  for (const card of document.querySelectorAll("[popover]")) {
    card.showPopover();
    if (card.scrollWidth > card.clientWidth) {
      found.push(`${card.id} is ${card.scrollWidth} px wide in ${card.clientWidth} px`);
    }
    card.hidePopover();
  }
  return found;
}

/** Goes through the page by Tab; opens what can be opened by Enter and closes it by Escape. Answers how much was opened. */
async function keyboard(page, report) {
  const wanted = await page.evaluate(() =>
    [...document.querySelectorAll("[popovertarget]")]
      .filter((button) => !button.closest("[popover]"))
      .map((button) => button.getAttribute("popovertarget")));
  const focused = () => page.evaluate(() => {
    const target = document.activeElement?.getAttribute("popovertarget");
    const open = [...document.querySelectorAll(":popover-open")].map((card) => card.id);
    return { isNone: document.activeElement === document.body, target, open };
  });
  const reached = [];
  const others = await page.evaluate(() => document.querySelectorAll("a,summary,[tabindex]").length);
  for (let presses = 0; presses <= wanted.length + others; presses += 1) {
    await page.keyboard.press("Tab");
    const { isNone, target } = await focused();
    if (isNone) break;
    if (!target) continue;
    reached.push(target);
    await page.keyboard.press("Enter");
    const opened = await focused();
    if (opened.open.join() !== target) report(`Enter at ${target} opens "${opened.open}"`);
    await page.keyboard.press("Escape");
    const closed = await focused();
    if (closed.open.length > 0) {
      report(`Escape leaves ${closed.open} open`);
      await page.evaluate(() => document.querySelector(":popover-open").hidePopover());
    }
    if (closed.target !== target) report(`after Escape the focus is not at ${target}`);
  }
  const missed = wanted.filter((target) => !reached.includes(target));
  missed.slice(0, MOST).forEach((target) => report(`Tab never comes to the number of ${target}`));
  return reached.length;
}

/** The first card of each verdict. */
async function oneOfEachVerdict(page) {
  return page.evaluate(() => ["refuted", "inconclusive", "unchecked", "verified"].flatMap((verdict) => {
    const target = document.querySelector(`button.n.${verdict}`)?.getAttribute("popovertarget");
    return document.getElementById(target) ? [target] : [];
  }));
}

/** What axe finds in a part of the page. */
async function accessible(page, part, when, report) {
  const violations = await page.evaluate(async (part) => {
    const options = { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } };
    const { violations } = await window.axe.run(part, options);
    return violations.map(({ id, nodes }) => ({ id, first: nodes[0].html.slice(0, 160), count: nodes.length }));
  }, part);
  violations.forEach(({ id, first, count }) => report(`${id} (${when}), ${count} times: ${first}`));
}
