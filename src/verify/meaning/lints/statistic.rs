//! Which statistic of several runs a number is: a mean, a best run, a spread, an interval of some level.

use repro_claim::syntax::ExpressionKind;

use super::{LintedClaim, first_words};
use crate::lexicon::{LexiconTerm, lexicon, place_of};

/// A number that the words call a different statistic.
pub(super) fn statistic(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number.filter(|number| !number.is_spread())?;
    let Some(own) = root_term(claim) else { return single(claim) };
    let head = claim.head.unwrap_or_default().to_lowercase();
    // "Within 0.0134 of one another": a spread may be named behind its number.
    let behind = if own.is_spread { first_words(claim.behind_itself(), 6) } else { String::new() };
    let near = format!("{} | {head} | {behind}", claim.before_with_runs());
    let said = said_in(&near, |term| term.is_spread == own.is_spread);
    let fits =
        |term: &&LexiconTerm| term.name == own.name || is_best_of(claim, &term.name, &own.name);
    match said.as_slice() {
        [first, ..] if !said.iter().any(fits) => another(first, own),
        _ => level(claim, own),
    }
}

/// A mean in the words, over the value of a single run.
fn single(claim: &LintedClaim<'_>) -> Option<String> {
    let [tree] = claim.trees else { return None };
    let is_plain = matches!(tree.kind, ExpressionKind::Field(..) | ExpressionKind::At(..));
    let is_one_run = claim.provenance.runs.len() == 1 && claim.provenance.arms.len() == 1;
    let near = claim.before_with_runs();
    let says_mean = !said_in(near, |term| term.name == "mean").is_empty();
    if !is_plain || !is_one_run || !says_mean || !lexicon().has("count.runs", near) {
        return None;
    }
    let message = "the text states a mean over runs, but the value is from one run";
    Some(message.to_owned())
}

/// The number behind ± under another name, or under none.
pub(super) fn spread(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number.filter(|number| number.is_spread())?;
    let own = root_term(claim)?;
    let in_text = |text: &str| said_in(text, |term| term.is_spread);
    let near = in_text(&claim.words_around());
    let said = if near.is_empty() { claim.text.map(in_text).unwrap_or_default() } else { near };
    match said.as_slice() {
        [] => {
            Some(format!("no word states what the number after ± is; the value is a {}", own.name))
        }
        terms if terms.iter().any(|term| term.name == own.name) => level(claim, own),
        [first, ..] => another(first, own),
    }
}

/// The statistics of a kind that a text names.
pub(super) fn said_in(
    text: &str,
    is_of_kind: impl Fn(&LexiconTerm) -> bool,
) -> Vec<&'static LexiconTerm> {
    let terms = lexicon().statistics.iter().filter(|term| is_of_kind(term));
    terms.filter(|term| term.place_in(text).is_some()).collect()
}

fn another(said: &LexiconTerm, own: &LexiconTerm) -> Option<String> {
    Some(format!("the text states {}, but the value is a {}", said.name, own.name))
}

/// The least or the greatest of several runs, over words that name no selection.
pub(super) fn selection(claim: &LintedClaim<'_>) -> Option<String> {
    let own = root_term(claim).filter(|term| term.selects)?;
    claim.number.filter(|_| claim.provenance.runs.len() > 1)?;
    let is_said = |text: &str| {
        lexicon().has("selection.words", text) || !said_in(text, |term| term.selects).is_empty()
    };
    let row = claim.row.unwrap_or_default();
    let around = [claim.words(), row.to_lowercase(), claim.context.to_lowercase()];
    let limits = lexicon().readings.iter().filter(|one| one.reading.is_limit());
    let mut limits = limits.flat_map(|one| &one.before);
    if around.iter().any(|text| is_said(text))
        || limits.any(|word| claim.lower.contains(word.as_str()))
        || claim.items.iter().any(|item| item.range_end.is_some())
    {
        return None;
    }
    let (name, runs) = (&own.name, claim.provenance.runs.len());
    Some(format!("the value is the {name} of {runs} runs, but no word indicates that"))
}

/// The statistic at the root of the expression.
fn root_term(claim: &LintedClaim<'_>) -> Option<&'static LexiconTerm> {
    let [tree] = claim.trees else { return None };
    // A formula may be the name of a statistic.
    let plain = claim.scope.plain(tree);
    let ExpressionKind::Call(name, arguments) = &plain.kind else {
        return None;
    };
    // An end of an interval is of its kind.
    let inner = arguments.first().filter(|_| matches!(name.as_str(), "min" | "max"));
    let inner = inner.and_then(|one| match &one.value.kind {
        ExpressionKind::Call(inner, _) => lexicon().statistic_of_function(inner),
        _ => None,
    });
    let spread = inner.filter(|term| term.is_spread);
    spread.or_else(|| lexicon().statistic_of_function(name))
}

/// Whether "best" and "worst" say the same as the least and the greatest of this quantity.
fn is_best_of(claim: &LintedClaim<'_>, said: &str, own: &str) -> bool {
    let higher = claim.provenance.quantity.and_then(|one| one.higher_is_better);
    match (said, own, higher) {
        ("best", "least" | "greatest", None) | ("worst", "least" | "greatest", None) => true,
        ("best", "least", Some(higher)) | ("worst", "greatest", Some(higher)) => !higher,
        ("best", "greatest", Some(higher)) | ("worst", "least", Some(higher)) => higher,
        ("least" | "greatest", "best", _) => true,
        // "The best model has a mean of": what is best is not a run.
        ("best" | "worst", "mean", _) => place_of(claim.before(), "mean").is_some(),
        _ => false,
    }
}

/// An interval of a level that the words do not have.
fn level(claim: &LintedClaim<'_>, own: &LexiconTerm) -> Option<String> {
    if own.name != "confidence interval" {
        return None;
    }
    let words = claim.words();
    let said = lexicon().words("selection.levels").iter().find(|level| {
        let spaced = words.replace(" %", "%");
        place_of(&spaced, level).is_some_and(|place| !spaced[..place.start].ends_with('.'))
    })?;
    Some(format!("the text states {said}, but the interval is a 95% interval"))
}
