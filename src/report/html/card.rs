//! The card that opens below a number: the words, what they are compared with, where the evidence is, and how to repeat it.

use std::collections::BTreeMap;

use super::escaped::escaped;
use super::line;
use super::marks;
use super::readings;
use crate::layout::rank;
use crate::outcome::{ClaimReport, Finding, Measured, SpreadChart, TestNumbers};
use crate::wording::{self, Remarks};

/// So many places of evidence are listed.
const PLACES: usize = 6;
/// So many numbers of one claim that is not verified are drawn.
const LINES: usize = 4;
/// How an entry begins that is written as in a file.
const CODE: &str = "<dd class=\"code\">";

/// The context of claims that cards need from elsewhere in a report.
pub struct ToldOfClaims<'r> {
    pub remarks: &'r Remarks<'r>,
    /// The possible readings of numbers behind ±, by claim.
    pub spreads: &'r BTreeMap<String, SpreadChart>,
}

/// Adds a card: all claims about one number, or of one statement.
pub fn card(page: &mut String, id: &str, claims: &[&ClaimReport], told: &ToldOfClaims<'_>) {
    let label = claims.first().map_or_else(String::new, |claim| name(claim));
    page.push_str(&format!(
        "<section class=\"card\" id=\"{id}\" popover aria-label=\"{}\"><button class=\"close\" popovertarget=\"{id}\">Close</button>",
        escaped(&label)
    ));
    match claims {
        // A page of many claims opens sooner the fewer elements each has.
        [claim] => one(page, claim, told),
        _ => {
            let mut claims = claims.to_vec();
            claims.sort_by_key(|claim| std::cmp::Reverse(rank(claim.outcome.verdict)));
            for claim in claims {
                page.push_str("<article>");
                one(page, claim, told);
                page.push_str("</article>");
            }
        }
    }
    page.push_str("</section>\n");
}

/// The label of a claim.
fn name(claim: &ClaimReport) -> String {
    match (claim.claimed.is_empty(), claim.quote.trim()) {
        (false, _) => format!("{}: {}", claim.claimed, wording::verdict(claim)),
        (true, "") => format!("{}: {}", claim.id, wording::verdict(claim)),
        (true, quote) => format!("{quote}: {}", wording::verdict(claim)),
    }
}

fn one(page: &mut String, claim: &ClaimReport, told: &ToldOfClaims<'_>) {
    let ToldOfClaims { remarks, spreads } = told;
    let outcome = &claim.outcome;
    let (class, word) = (marks::class_of(&[claim]).unwrap_or_default(), wording::verdict(claim));
    let claimed = match claim.claimed.is_empty() {
        true => String::new(),
        false => format!(" <strong>{}</strong>", escaped(&claim.claimed)),
    };
    page.push_str(&format!("<p class=\"verdict {class}\">{word}{claimed}</p>"));
    quote(page, claim);
    if !outcome.reason.is_empty() {
        page.push_str(&format!("<p class=\"why\">{}</p>", escaped(&outcome.reason)));
    }
    page.push_str("<dl>");
    let fact = claim.meaning.fact.as_ref().map(|fact| fact.sentence.clone()).unwrap_or_default();
    entry(page, "<dd>", "fact", &fact);
    entry(page, "<dd>", "read as", &wording::readings(claim));
    entry(page, CODE, "expression", &claim.said);
    let row = claim.row.iter().map(|name| format!("{} = {}", name.name, name.meaning));
    entry(page, CODE, "in this row", &row.collect::<Vec<_>>().join(", "));
    // Most facts end with their values.
    if !fact.contains(&outcome.recomputed) {
        entry(page, "<dd>", "evidence has", &outcome.recomputed);
    }
    if !outcome.is_verified() {
        entry(page, "<dd>", "agrees within", &wording::tolerance(claim));
    }
    let places: Vec<_> = wording::evidence(claim).collect();
    if let [place] = places.as_slice() {
        entry(page, CODE, "read from", place);
    }
    let assurance = [&wording::assurance(&[claim]), wording::impact(claim.impact)].join(" · ");
    entry(page, "<dd>", "evidence", &assurance);
    entry(page, "<dd>", "own constants", &claim.own_numbers.join(", "));
    let code = outcome.code.map(|code| format!(" · repro explain {}", code.id));
    let place = wording::line_of(&claim.place) + &code.unwrap_or_default();
    entry(page, CODE, "bound in", &place);
    page.push_str("</dl>");
    for measured in outcome.measured.iter().take(LINES).filter(|_| !outcome.is_verified()) {
        line::draw(page, measured);
    }
    if let Some(chart) = spreads.get(&claim.id) {
        readings::of_spread(page, chart);
    }
    readings::of_order(page, claim);
    if let Some(test) = outcome.measured.iter().find_map(|one: &Measured| one.test.as_ref()) {
        self::test(page, test);
    }
    if places.len() > 1 {
        evidence(page, &places);
    }
    for finding in remarks.on(&claim.id) {
        note(page, finding);
    }
    if !claim.note.trim().is_empty() {
        page.push_str(&format!("<p class=\"note\">Note: {}</p>", escaped(claim.note.trim())));
    }
}

/// The words of the text, in the sentence around them, with their place.
fn quote(page: &mut String, claim: &ClaimReport) {
    let (quote, around) = (claim.quote.trim(), claim.around.trim());
    if quote.is_empty() {
        return;
    }
    if quote == claim.claimed && around.is_empty() {
        // A cell of a table: the number stands above.
        if let Some((_, place)) = claim.at.as_ref().filter(|(_, place)| !place.is_empty()) {
            page.push_str(&format!("<p class=\"place\">{}</p>", escaped(place)));
        }
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
    page.push_str(&format!("<blockquote>{words}{place}</blockquote>"));
}

/// Adds an entry of a list, which begins with this tag, unless it is empty.
fn entry(page: &mut String, tag: &str, name: &str, value: &str) {
    if !value.is_empty() {
        page.push_str(&format!("<dt>{name}</dt>{tag}{}</dd>", escaped(value)));
    }
}

fn test(page: &mut String, test: &TestNumbers) {
    let TestNumbers { name, estimate, interval95: [low, high], t, df, p, n } = test;
    let n: Vec<_> = n.iter().map(usize::to_string).collect();
    page.push_str(&format!(
        "<p class=\"test\">{}: difference {estimate:.6}, 95% interval {low:.6} to {high:.6}, t {t:.4}, {df:.2} degrees of freedom, p {p:.3e}, n {}</p>",
        escaped(name),
        n.join(" and "),
    ));
}

fn evidence(page: &mut String, places: &[String]) {
    page.push_str(&format!(
        "<details><summary>{} of evidence</summary><ul>",
        wording::many(places.len(), "place")
    ));
    for place in places.iter().take(PLACES) {
        page.push_str(&format!("<li><code>{}</code></li>", escaped(place)));
    }
    if let Some(more) = places.len().checked_sub(PLACES).filter(|more| *more > 0) {
        page.push_str(&format!("<li>and {more} more (<code>--format json</code> lists all)</li>"));
    }
    page.push_str("</ul></details>");
}

fn note(page: &mut String, finding: &Finding) {
    page.push_str(&format!(
        "<p class=\"note\">{} <code>{}</code></p>",
        escaped(&finding.message),
        finding.code.id
    ));
}
