//! What words call a statistic, against the function that gives it: a standard deviation, a standard error, an interval of
//! a level, a p.

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;

use super::{Mismatch, OTHER_STATISTIC, Words};

/// The level of every interval here, in percent.
const LEVEL: &str = "95";

/// A measure of spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spread {
    Deviation,
    Error,
    Variance,
    Interval,
    Range,
}

/// A measure of spread, its name, the words for it and the functions that give it.
type Known = (Spread, &'static str, &'static [&'static str], &'static [&'static str]);

const KNOWN: &[Known] = &[
    (
        Spread::Deviation,
        "a standard deviation",
        &["standard deviation", "standard deviations", "std", "stdev", "std dev", "s d", "sd"],
        &["sd", "population_sd"],
    ),
    (
        Spread::Error,
        "a standard error",
        &["standard error", "standard errors", "stderr", "std err", "s e", "s e m", "sem"],
        &["se"],
    ),
    (Spread::Variance, "a variance", &["variance"], &[]),
    (
        Spread::Interval,
        "an interval of a mean",
        &["confidence interval", "confidence intervals", "ci", "cis", "credible interval"],
        &["ci95", "gap_ci95", "bootstrap95"],
    ),
    (
        Spread::Range,
        "the range of all runs",
        &["range", "ranges", "all runs", "all seeds", "every run", "every seed"],
        &[],
    ),
];

/// Whether the words call a number another statistic than its expression gives.
pub fn other(words: Words, expression: &Expression) -> Mismatch {
    if is_computed_from_a_p(expression) {
        let reason = "a p that is computed with is no p, and no probability of what is claimed";
        return Some((&OTHER_STATISTIC, reason.to_owned()));
    }
    let ExpressionKind::Call(name, _) = &expression.kind else { return None };
    if name == "count" && is_a_part(words) {
        let reason = "the words count some of them, and `count` gives all: `how_many` counts some";
        return Some((&OTHER_STATISTIC, reason.to_owned()));
    }
    if let Some(word) = (name == "mean").then(|| no_mean(words)).flatten() {
        return Some((
            &OTHER_STATISTIC,
            format!("the words say \"{word}\", and `mean` gives a mean"),
        ));
    }
    let (found, found_name, ..) = KNOWN.iter().find(|known| known.3.contains(&name.as_str()))?;
    let text = format!("{} {}", words.quote, words.head.unwrap_or_default()).to_lowercase();
    let text = text.replace(['\u{a0}', '\u{202f}'], " ").replace(" %", "%");
    let parts =
        text.split(|c: char| !c.is_alphanumeric() && c != '%').filter(|word| !word.is_empty());
    let parts: Vec<&str> = parts.collect();
    let spaced = format!(" {} ", parts.join(" "));
    let is_said = |known: &&Known| known.2.iter().any(|name| spaced.contains(&format!(" {name} ")));
    let said: Vec<_> = KNOWN.iter().filter(is_said).collect();
    if let [(said, said_name, ..)] = said.as_slice()
        && said != found
    {
        let reason = format!("the words name {said_name}, and `{name}` gives {found_name}");
        return Some((&OTHER_STATISTIC, reason));
    }
    let other_level = |pair: &[&str]| {
        let level = pair[0].strip_suffix('%').filter(|level| !level.is_empty() && *level != LEVEL);
        level.is_some_and(|level| level.bytes().all(|byte| byte.is_ascii_digit()))
            && (pair[1].starts_with("interval")
                || pair[1].starts_with("confidence")
                || pair[1] == "ci")
    };
    let pair =
        parts.windows(2).find(|pair| other_level(pair)).filter(|_| *found == Spread::Interval)?;
    Some((&OTHER_STATISTIC, format!("the words say {}, and `{name}` is of {LEVEL}%", pair[0])))
}

/// Whether a number is so many of so many, as "5 of 6 seeds" are, that win or lose.
fn is_a_part(words: Words) -> bool {
    const WON: &[&str] =
        &["win", "wins", "won", "lose", "loses", "lost", "beats", "ahead", "better", "worse"];
    let Some((_, end)) = words.number else { return false };
    let behind = words.quote.get(end..).unwrap_or_default().trim_start();
    let is_of = ["of ", "out of ", "/"].iter().any(|of| behind.starts_with(of));
    let lower = words.quote.to_lowercase();
    let mut parts = lower.split(|c: char| !c.is_alphanumeric());
    is_of && parts.any(|word| WON.contains(&word))
}

/// A word by which a number is another summary of runs than their mean.
fn no_mean(words: Words) -> Option<&'static str> {
    const OTHERS: &[&str] = &[
        "median",
        "variance",
        "geometric",
        "harmonic",
        "trimmed",
        "percentile",
        "quantile",
        "each seed",
        "every seed",
        "first seed",
        "last seed",
        "best seed",
        "worst seed",
        "best run",
        "worst run",
    ];
    let text = format!("{} {}", words.quote, words.head.unwrap_or_default()).to_lowercase();
    let text = text.replace('_', " ");
    let is_mean = ["mean", "average"].iter().any(|word| text.contains(word));
    OTHERS.iter().find(|word| !is_mean && text.contains(*word)).copied()
}

/// Whether an expression multiplies, divides or takes the complement of a p.
fn is_computed_from_a_p(expression: &Expression) -> bool {
    let is_p =
        |part: &Expression| matches!(&part.kind, ExpressionKind::Call(name, _) if name == "p");
    let mut found = false;
    expression.each(&mut |part| {
        if let ExpressionKind::Arithmetic(_, a, b) = &part.kind {
            found |= is_p(a) || is_p(b);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::other;
    use crate::statement::about::Words;
    use repro_claim::Expression;

    #[test]
    fn a_spread_is_what_its_words_call_it() {
        let differs = |quote: &str, expression: &str| {
            let words =
                Words { quote, place: "", head: None, before: "", behind: "", number: None };
            other(words, &Expression::parse(expression).unwrap()).is_some()
        };
        assert!(differs("± 0.0055 (standard deviation over six seeds)", "se(a.loss)"));
        assert!(!differs("± 0.0134 (standard deviation over six seeds)", "sd(a.loss)"));
        assert!(differs("standard error 0.0083", "sd(a.loss)"));
        assert!(!differs("1.70 ± 0.0083 (SD), standard error 0.0034", "sd(a.loss)"));
        assert!(differs("the 99% interval is [1.68, 1.72]", "ci95(a.loss)"));
        assert!(differs("All runs end within [1.68, 1.72]", "ci95(a.loss)"));
        assert!(!differs("a 95% CI of [1.68, 1.72]", "ci95(a.loss)"));
        assert!(!differs("a 95 % CI of [1.68, 1.72]", "ci95(a.loss)"));
        assert!(differs("p = 0.0287", "p(a.loss, b.loss) / 2"));
        assert!(!differs("p = 0.057", "p(a.loss, b.loss)"));
    }
}
