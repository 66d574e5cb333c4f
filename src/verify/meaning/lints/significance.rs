//! Tests that the words name, and significance that no relation tests.

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;

use super::{LintedClaim, denies_before, first_words, last_words};
use crate::lexicon::{LexiconTerm, lexicon};
use crate::value::NumberRole;

/// So many bytes before "significant" may hold what denies it.
const DENIED_WITHIN: usize = 32;

/// Another test than the design of the runs fixes.
pub(super) fn test(claim: &LintedClaim<'_>) -> Option<String> {
    let functions = &claim.provenance.functions;
    let is_no_t_test = claim.provenance.calls_any(lexicon().words("significance.no_t_tests"));
    if is_no_t_test || !functions.contains("p") && !functions.contains("significant") {
        return None;
    }
    let words = claim.words_around();
    let is_paired = claim.provenance.design.as_ref().map(|design| design.is_paired);
    let named = lexicon().tests.iter().find(|test| {
        let is_other = match (test.is_paired, is_paired) {
            (Some(named), Some(own)) => named != own,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let is_said = match test.given_by.as_slice() {
            [] => test.place_in(&words).is_some(),
            _ => says_adjusted(claim, test) && !is_raw(claim),
        };
        is_other && is_said
    })?;
    let own = match is_paired {
        Some(true) => "a paired t test of both sides",
        Some(false) => "Welch's t test of both sides",
        None => "a t test of both sides",
    };
    Some(format!("the text mentions {}, but the fact uses {own}", named.name))
}

/// Whether the words name an adjustment that the expression does not have. Where another part of the sentence has it, only
/// the words beside the p are of the p.
fn says_adjusted(claim: &LintedClaim<'_>, test: &LexiconTerm) -> bool {
    let siblings = claim.siblings.iter().filter(|tree| !claim.trees.contains(tree));
    let is_elsewhere = call(siblings.copied(), &test.given_by);
    let near = if is_elsewhere { near(claim) } else { claim.words_around() };
    !claim.provenance.calls_any(&test.given_by) && test.place_in(&near).is_some()
}

/// The words right next to a number.
fn near(claim: &LintedClaim<'_>) -> String {
    format!("{} {}", last_words(claim.before(), 5), first_words(claim.behind(), 4))
}

/// Whether the words say that no adjustment changes the p: "raw p = 0.044".
fn is_raw(claim: &LintedClaim<'_>) -> bool {
    lexicon().has("significance.raw", &near(claim))
}

/// Another kind of interval than the expression computes.
pub(super) fn interval(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let kinds = &lexicon().intervals;
    let words = claim.words();
    let own = kinds.iter().find(|kind| claim.provenance.calls_any(&kind.given_by))?;
    let said = kinds.iter().find(|kind| kind.place_in(&words).is_some())?;
    if own.place_in(&words).is_some() {
        return None;
    }
    Some(format!("the text mentions {}, but the value is an end of {}", said.name, own.name))
}

/// Significance in the words and none in the relations, or the other way.
pub(super) fn significance(claim: &LintedClaim<'_>) -> Option<String> {
    let words = claim.lower;
    let lexicon = lexicon();
    let said = lexicon.find("significance.words", words);
    let denies = lexicon.has("significance.denied", words)
        || said.as_ref().is_some_and(|(_, place)| denies_before(words, place.start, DENIED_WITHIN));
    let says = said.is_some() && !denies;
    let all = || claim.siblings.iter().chain(claim.trees).copied();
    let is_replayed = claim.number.is_some() || call(all(), lexicon.words("significance.replays"));
    if lexicon.has("significance.replayed", words) && !is_replayed {
        let message = "the text mentions a replay, but no relation replays the runs";
        return Some(message.to_owned());
    }
    if !says && !denies {
        return None;
    }
    // Where a relation decides, or the p is named as the raw one, the p need not agree with the words.
    let siblings = claim.siblings.iter().copied();
    if let Some(p) = TestedP::of(claim)
        && p.is_significant != says
        && !is_raw(claim)
        && !call(siblings, lexicon.words("significance.decides"))
    {
        let side = if p.is_significant { "below" } else { "not below" };
        return Some(format!("the text disagrees, but the p is {side} {}", p.alpha));
    }
    if !call(all(), lexicon.words("significance.tests")) && !compares_groups(claim) {
        let message = "the text mentions significance, but no relation tests it";
        return Some(message.to_owned());
    }
    let [tree] = claim.trees else { return None };
    let message = match &tree.kind {
        ExpressionKind::Not(of) if of.is_call_of("significant") && says => {
            "the text calls it significant, but the relation denies that"
        }
        _ if tree.is_call_of("significant") && denies => {
            "the text calls it not significant, but the relation asserts significance"
        }
        _ if lexicon.has("significance.between", words) => {
            "the text mentions a borderline result, but the relation decides at 5%"
        }
        _ => return None,
    };
    Some(message.to_owned())
}

/// The p that a claim is: "significant (p = 0.057)".
struct TestedP {
    is_significant: bool,
    alpha: f64,
}

impl TestedP {
    fn of(claim: &LintedClaim<'_>) -> Option<Self> {
        let alpha = claim.provenance.design.as_ref()?.alpha;
        let [number] = claim.given else { return None };
        let is_p = matches!(number.role, NumberRole::P(_));
        is_p.then_some(Self { is_significant: number.float < alpha, alpha })
    }
}

/// A p that decides nothing, beside words that take it for a proof of equality.
pub(super) fn equality(claim: &LintedClaim<'_>) -> Option<String> {
    let TestedP { alpha, .. } = TestedP::of(claim).filter(|p| !p.is_significant)?;
    let (word, _) = lexicon().find("significance.equal", claim.lower)?;
    let tests = lexicon().words("significance.tests_equality");
    if call(claim.siblings.iter().copied(), tests) {
        return None;
    }
    Some(format!("the text contains \"{word}\", but a p of {alpha} or more does not show equality"))
}

/// Whether a relation between groups of runs is judged by a test.
fn compares_groups(claim: &LintedClaim<'_>) -> bool {
    let is_group = claim.provenance.arms.iter().any(|arm| arm.runs.is_group);
    is_group
        && claim.trees.iter().any(|tree| tree.is_relation())
        && !claim.provenance.functions.contains("printed")
}

/// Whether one of some expressions calls one of a list of functions.
fn call<'e>(trees: impl IntoIterator<Item = &'e Expression>, functions: &[String]) -> bool {
    let mut called = trees.into_iter().flat_map(Expression::all).filter_map(Expression::function);
    called.any(|name| functions.iter().any(|known| known == name))
}
