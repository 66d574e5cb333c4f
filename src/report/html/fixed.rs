//! Quantities that are said to be held fixed, as bars: of each model or run what it has.

use super::escaped::escaped;
use super::figure::digits;
use super::marks::rank;
use crate::outcome::{ClaimReport, Measured};
use crate::visible::clipped;

/// So many quantities are drawn, each of so many models or runs.
const QUANTITIES: usize = 16;
const BARS: usize = 12;
/// So many characters of the words are shown.
const WORDS: usize = 120;

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

    /// The words of the text that say so.
    fn words(&self) -> String {
        match self.claim.quote.trim() {
            "" => String::new(),
            quote => format!("<q>{}</q> ", escaped(&clipped(quote, WORDS))),
        }
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
            "" => String::new(),
            "equal" => "; they have to be equal".to_owned(),
            width => format!("; {width} more is allowed"),
        };
        page.push_str(&format!(
            "<div><p>{}<code>{}</code></p><p class=\"note\"><span class=\"verdict {word}\">{word}</span>: {apart}{}</p>\n<ul>",
            self.words(),
            escaped(&self.claim.said),
            escaped(&allowed),
        ));
        let far = least.abs().max(most.abs());
        for (of, value) in self.values.iter().take(BARS) {
            page.push_str(&format!(
                "<li><span>{}</span> <span>{}</span><svg viewBox=\"0 0 100 3\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{:.2}\" height=\"3\"/></svg></li>",
                escaped(of),
                digits(*value, 5),
                100.0 * value.abs() / far,
            ));
        }
        let more = self.values.len().saturating_sub(BARS);
        let more = if more > 0 { format!("<li>and {more} more</li>") } else { String::new() };
        page.push_str(&format!("{more}</ul></div>\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Impact, Meaning, Outcome};
    use repro_core::source::Location;

    fn claim(said: &str, outcome: Outcome, values: &[(&str, f64)]) -> ClaimReport {
        let measured = values.iter().map(|(of, value)| Measured {
            of: (*of).to_owned(),
            value: Some(*value),
            ..Measured::default()
        });
        ClaimReport {
            id: "a".to_owned(),
            kind: "relation",
            claimed: String::new(),
            said: said.to_owned(),
            row: Vec::new(),
            own_numbers: Vec::new(),
            around: String::new(),
            quote: "the same <b>tokens</b>".to_owned(),
            at: None,
            note: String::new(),
            meaning: Meaning::default(),
            place: Location::file("repro/a.toml"),
            origin: None,
            impact: Impact::Decision,
            outcome: outcome.measuring(measured),
            evidence: Vec::new(),
        }
    }

    fn drawn(claims: &[ClaimReport]) -> String {
        let mut page = String::new();
        draw(&mut page, claims);
        page
    }

    #[test]
    fn each_value_has_a_bar_and_the_worst_stands_first() {
        let near = Outcome::verified().within("nearly_fixed", "2%");
        let page = drawn(&[
            claim("nearly_fixed(active(it))", near.clone(), &[("moe", 100.0), ("dense", 101.0)]),
            claim(
                "held_fixed(seen(it))",
                Outcome { verdict: crate::outcome::Verdict::Refuted, ..near.clone() },
                &[("<moe>", 50.0), ("dense", 100.0)],
            ),
            claim("held_fixed(layers(it))", near, &[("moe", 8.0), ("dense", 8.0)]),
        ]);
        let (first, second) = (page.find("held_fixed(seen(it))"), page.find("nearly_fixed("));
        assert!(first < second, "{page}");
        for wanted in [
            "&lt;b&gt;tokens",
            "&lt;moe&gt;</span> <span>50</span>",
            "<rect width=\"50.00\"",
            "2.0000 times the smallest",
            "1.0100 times the smallest",
            "equal everywhere: 1",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
    }

    #[test]
    fn other_claims_and_values_that_are_no_numbers_are_not_drawn() {
        let verified = Outcome::verified;
        assert_eq!(drawn(&[claim("a < b", verified(), &[("a", 1.0), ("b", 2.0)])]), "");
        assert_eq!(
            drawn(&[claim("held_fixed(a)", verified(), &[("a", f64::NAN), ("b", 2.0)])]),
            ""
        );
        assert_eq!(drawn(&[claim("held_fixed(a)", verified(), &[])]), "");
    }
}
