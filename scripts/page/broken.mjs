// Ways to break a page, each with the check that has to see it.
import { createHash } from "node:crypto";

/** The page with another style, which its policy allows as it allowed the first. */
function restyled(page, change) {
  const [before, behind] = page.split("<style>");
  const [style, after] = behind.split("</style>");
  const changed = change(style);
  const digest = (text) => createHash("sha256").update(text).digest("base64");
  return `${before.replace(digest(style), digest(changed))}<style>${changed}</style>${after}`;
}
const added = (rule) => (page) => restyled(page, (style) => style + rule);
const inserted = (markup) => (page) => page.replace("<main>", `<main>${markup}`);
/** Without the policy. */
const allowed = (page) => page.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "");
/** Of the first number. */
const first = (from, to) => (page) => page.replace(from, to);
const script = "<script>document.documentElement.dataset.acted = 'main'</script>";

export const breakages = [
  { name: "faint text", check: "axe", change: added(".repeat{color:#ccc}") },
  { name: "text that is faint in the dark", check: "axe", change: added("@media (prefers-color-scheme:dark){.repeat{color:#444}}") },
  { name: "faint text in a card", check: "axe", change: added(".card dd{color:#999}") },
  { name: "a button without a name", check: "axe", change: inserted("<button></button>") },
  { name: "a number that Tab passes over", check: "keyboard", change: first(/<button (?=[^>]*class="n )/, "<button tabindex=\"-1\" ") },
  { name: "a number that opens nothing", check: "keyboard", change: first(/popovertarget="[^"]*"/, "popovertarget=\"nothing\"") },
  { name: "a card that stays open", check: "keyboard", change: first(" popover ", " popover=\"manual\" ") },
  { name: "a picture from elsewhere", check: "network", change: (page) => inserted("<img alt=\"\" src=\"https://example.org/1.png\">")(allowed(page)) },
  { name: "a picture that the policy refuses", check: "console", change: inserted("<img alt=\"\" src=\"https://example.org/1.png\">") },
  { name: "a script that the policy refuses", check: "script", change: inserted(script) },
  { name: "a script that runs", check: "script", change: (page) => inserted(script)(allowed(page)) },
  { name: "a script of an attribute", check: "script", change: (page) => inserted("<p onclick=\"alert(1)\">one</p>")(allowed(page)) },
  { name: "text that does not wrap", check: "narrow", change: added(".prose p{white-space:nowrap}") },
  { name: "a card that is too wide", check: "narrow", change: added(".card dl{min-width:40rem}") },
];
