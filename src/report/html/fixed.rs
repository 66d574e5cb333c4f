//! Quantities that are said to be held fixed, as bars: of each model or run what it has.

use super::escaped::escaped;
use super::marks::rank;
use crate::outcome::{ClaimReport, Measured};

/// So many quantities are drawn, each of so many models or runs.
const QUANTITIES: usize = 16;
const BARS: usize = 12;

/// A claim with the values of which it says that they are one.
struct FixedQuantity<'r> {
    claim: &'r ClaimReport,
    values: Vec<(&'r str, f64)>,
}

/// Adds bars for the quantities that are not equal everywhere, the worst first, and names those that are.
pub fn draw(page: &mut String, claims: &[ClaimReport]) {
    let mut all: Vec<_> = claims.iter().filter_map(FixedQuantity::of).collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|one| std::cmp::Reverse(rank(one.claim.outcome.verdict)));
    let (equal, apart): (Vec<_>, Vec<_>) = all.into_iter().partition(FixedQuantity::is_equal);
    page.push_str("<figure class=\"bars\">\n<figcaption><strong>Quantities said to be held fixed</strong></figcaption>\n");
    for one in apart.iter().take(QUANTITIES) {
        one.draw(page);
    }
    if let Some(more) = apart.len().checked_sub(QUANTITIES).filter(|more| *more > 0) {
        page.push_str(&format!("<p class=\"note\">and {more} more</p>\n"));
    }
    if !equal.is_empty() {
        let told =
            equal.iter().map(|one| format!("<li><code>{}</code></li>", escaped(&one.claim.said)));
        page.push_str(&format!(
            "<details><summary>equal everywhere: {}</summary><ul>{}</ul></details>\n",
            equal.len(),
            told.collect::<String>()
        ));
    }
    page.push_str("</figure>\n");
}

impl<'r> FixedQuantity<'r> {
    fn of(claim: &'r ClaimReport) -> Option<Self> {
        let says_fixed =
            ["held_fixed(", "nearly_fixed("].iter().any(|name| claim.said.starts_with(name));
        let value = |one: &'r Measured| {
            Some((one.of.as_str(), one.value.filter(|value| value.is_finite())?))
        };
        let values: Vec<_> = claim.outcome.measured.iter().map(value).collect::<Option<_>>()?;
        (says_fixed && values.len() > 1).then_some(Self { claim, values })
    }

    fn is_equal(&self) -> bool {
        self.values.windows(2).all(|pair| pair[0].1 == pair[1].1)
    }

    /// The ends of the values.
    fn ends(&self) -> (f64, f64) {
        let values = || self.values.iter().map(|(_, value)| *value);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    }

    fn draw(&self, page: &mut String) {
        let outcome = &self.claim.outcome;
        let (least, most) = self.ends();
        let word = outcome.verdict.word();
        let apart = match least > 0.0 {
            true => format!("the largest is {:.4} times the smallest", most / least),
            false => "they differ".to_owned(),
        };
        let allowed = match outcome.tolerance.as_str() {
            "equal" => "they have to be equal".to_owned(),
            width => format!("{width} more is allowed"),
        };
        page.push_str(&format!(
            "<div><p><code>{}</code></p><p class=\"note\"><span class=\"verdict {word}\">{word}</span>: {apart}; {}</p>\n<ul>",
            escaped(&self.claim.said),
            escaped(&allowed),
        ));
        let far = least.abs().max(most.abs());
        for (of, value) in self.values.iter().take(BARS) {
            page.push_str(&format!(
                "<li><span>{}</span> <span>{}</span><svg viewBox=\"0 0 100 3\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{:.2}\" height=\"3\"/></svg></li>",
                escaped(of),
                short(*value),
                100.0 * value.abs() / far,
            ));
        }
        let more = self.values.len().saturating_sub(BARS);
        let more = if more > 0 { format!("<li>and {more} more</li>") } else { String::new() };
        page.push_str(&format!("{more}</ul></div>\n"));
    }
}

/// A whole number in full, another one with the digits that matter.
fn short(value: f64) -> String {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => format!("{value}"),
        false => format!("{value:.4}"),
    }
}
