//! What opens below a number: the words, what they are held against, where the evidence stands, and how to repeat it.

use super::escaped::escaped;
use super::line;
use super::marks::rank;
use crate::outcome::{ClaimReport, Finding, Measured, TestNumbers, Verdict};
use crate::text::mark;
use crate::wording::{self, Remarks};

/// So many places of evidence are listed.
const PLACES: usize = 24;
/// So many numbers of one claim are drawn.
const LINES: usize = 4;

/// Adds a card: all claims about one number, or of one statement.
pub fn card(page: &mut String, id: &str, claims: &[&ClaimReport], remarks: &Remarks<'_>) {
    let label = claims.first().map_or_else(String::new, |claim| name(claim));
    page.push_str(&format!(
        "<section class=\"card\" id=\"{id}\" popover aria-label=\"{}\">\n\
         <button type=\"button\" class=\"close\" popovertarget=\"{id}\" popovertargetaction=\"hide\">Close</button>\n",
        escaped(&label)
    ));
    let mut claims = claims.to_vec();
    claims.sort_by_key(|claim| std::cmp::Reverse(rank(claim.outcome.verdict)));
    for claim in claims {
        one(page, claim, remarks);
    }
    page.push_str("</section>\n");
}

/// What a claim is called.
fn name(claim: &ClaimReport) -> String {
    match (claim.claimed.is_empty(), claim.quote.trim()) {
        (false, _) => format!("{}: {}", claim.claimed, claim.outcome.verdict.word()),
        (true, "") => format!("{}: {}", claim.id, claim.outcome.verdict.word()),
        (true, quote) => format!("{quote}: {}", claim.outcome.verdict.word()),
    }
}

/// "✗ refuted".
pub fn verdict(verdict: Verdict) -> String {
    let (sign, _) = mark(verdict);
    let word = verdict.word();
    format!("<span class=\"verdict {word}\"><span aria-hidden=\"true\">{sign}</span> {word}</span>")
}

fn one(page: &mut String, claim: &ClaimReport, remarks: &Remarks<'_>) {
    let outcome = &claim.outcome;
    let claimed = match claim.claimed.is_empty() {
        true => String::new(),
        false => format!(" <strong class=\"claimed\">{}</strong>", escaped(&claim.claimed)),
    };
    page.push_str(&format!("<article>\n<p>{}{claimed}</p>\n", verdict(outcome.verdict)));
    quote(page, claim);
    if !outcome.reason.is_empty() {
        page.push_str(&format!("<p class=\"why\">{}</p>\n", escaped(&outcome.reason)));
    }
    page.push_str("<dl>\n");
    entry(page, "held against", &code(&claim.said));
    let row = claim.row.iter().map(|name| format!("{} = {}", name.name, name.meaning));
    entry(page, "in this row", &code(&row.collect::<Vec<_>>().join(", ")));
    entry(page, "the evidence gives", &escaped(&outcome.recomputed));
    entry(page, "agrees within", &escaped(&wording::tolerance(claim)));
    entry(page, "evidence", &escaped(&wording::assurance(claim)));
    entry(page, "if it is wrong", wording::impact(claim.impact));
    let own = claim.own_numbers.join(", ");
    entry(page, "numbers of the post itself", &escaped(&own));
    page.push_str("</dl>\n");
    for measured in outcome.measured.iter().take(LINES) {
        line::draw(page, measured);
    }
    if let Some(test) = outcome.measured.iter().find_map(|one: &Measured| one.test.as_ref()) {
        self::test(page, test);
    }
    evidence(page, claim);
    for finding in remarks.on(&claim.id) {
        note(page, finding);
    }
    if !claim.note.trim().is_empty() {
        page.push_str(&format!("<p class=\"note\">Note: {}</p>\n", escaped(claim.note.trim())));
    }
    let code = outcome.code.map(|code| format!(" · <code>repro explain {}</code>", code.id));
    page.push_str(&format!(
        "<p class=\"place\">{}{}</p>\n</article>\n",
        escaped(&wording::line_of(&claim.place)),
        code.unwrap_or_default()
    ));
}

/// The words of the text, in the sentence around them, with their place.
fn quote(page: &mut String, claim: &ClaimReport) {
    let (quote, around) = (claim.quote.trim(), claim.around.trim());
    if quote.is_empty() {
        return;
    }
    let words = match around.split_once(quote) {
        Some((before, behind)) => {
            format!("{}<mark>{}</mark>{}", escaped(before), escaped(quote), escaped(behind))
        }
        None => escaped(quote).into_owned(),
    };
    let place = match &claim.at {
        Some((_, place)) if !place.is_empty() => format!("<footer>{}</footer>", escaped(place)),
        _ => String::new(),
    };
    page.push_str(&format!("<blockquote>{words}{place}</blockquote>\n"));
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<code>{}</code>", escaped(text)) }
}

fn entry(page: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        page.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    }
}

fn test(page: &mut String, test: &TestNumbers) {
    let TestNumbers { name, estimate, interval95: [low, high], t, df, p, n } = test;
    let n: Vec<_> = n.iter().map(usize::to_string).collect();
    page.push_str(&format!(
        "<p class=\"test\">{}: difference {estimate:.6}, 95% interval {low:.6} to {high:.6}, t {t:.4}, {df:.2} degrees of freedom, p {p:.3e}, n {}</p>\n",
        escaped(name),
        n.join(" and "),
    ));
}

fn evidence(page: &mut String, claim: &ClaimReport) {
    let places: Vec<_> = wording::evidence(claim).collect();
    if places.is_empty() {
        return;
    }
    let noun = wording::many(places.len(), "place");
    page.push_str(&format!("<details><summary>{noun} of evidence</summary><ul>\n"));
    for place in places.iter().take(PLACES) {
        page.push_str(&format!("<li><code>{}</code></li>\n", escaped(place)));
    }
    if let Some(more) = places.len().checked_sub(PLACES).filter(|more| *more > 0) {
        page.push_str(&format!("<li>and {more} more (<code>--format json</code> has all)</li>\n"));
    }
    page.push_str("</ul></details>\n");
}

fn note(page: &mut String, finding: &Finding) {
    page.push_str(&format!(
        "<p class=\"note\">{} <code>{}</code></p>\n",
        escaped(&finding.message),
        finding.code.id
    ));
}
