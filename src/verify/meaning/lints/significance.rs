//! Tests that the words name, and significance that no relation tests.

use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;
use repro_report::meaning::{Lint, LintKind};

use super::{LintedClaim, denies_before, first_words, last_words, lint};
use crate::lexicon::{LexiconTerm, lexicon};
use crate::value::NumberRole;

/// So many bytes before "significant" may hold what denies it.
const DENIED_WITHIN: usize = 32;

/// Another test than the design of the runs fixes.
pub(super) fn test(claim: &LintedClaim<'_>) -> Option<Lint> {
    let functions = &claim.provenance.functions;
    let is_no_t_test =
        lexicon().words("significance.no_t_tests").iter().any(|name| functions.contains(name));
    if is_no_t_test || !functions.contains("p") && !functions.contains("significant") {
        return None;
    }
    let words = format!("{} {}", claim.words(), claim.context.to_lowercase());
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
    lint(LintKind::Test, format!("the text names {}, and the fact is of {own}", named.name))
}

/// Whether the words name an adjustment that the expression does not have. Where another part of the sentence has it, only
/// the words beside the p are of the p.
fn says_adjusted(claim: &LintedClaim<'_>, test: &LexiconTerm) -> bool {
    let mut siblings = claim.siblings.iter().filter(|tree| !claim.trees.contains(tree));
    let is_elsewhere = siblings.any(|tree| calls(tree, &test.given_by));
    let near = match is_elsewhere {
        true => near(claim),
        false => format!("{} {}", claim.words(), claim.context.to_lowercase()),
    };
    !claim.provenance.functions.iter().any(|name| test.given_by.contains(name))
        && test.place_in(&near).is_some()
}

/// The words right beside a number.
fn near(claim: &LintedClaim<'_>) -> String {
    format!("{} {}", last_words(claim.before(), 5), first_words(claim.behind(), 4))
}

/// Whether the words say that no adjustment changes the p: "raw p = 0.044".
fn is_raw(claim: &LintedClaim<'_>) -> bool {
    lexicon().has("significance.raw", &near(claim))
}

/// Another kind of interval than the expression computes.
pub(super) fn interval(claim: &LintedClaim<'_>) -> Option<Lint> {
    claim.number.as_ref()?;
    let functions = &claim.provenance.functions;
    let kinds = &lexicon().intervals;
    let own = kinds.iter().find(|kind| kind.given_by.iter().any(|one| functions.contains(one)))?;
    let words = claim.words();
    let said = kinds.iter().find(|kind| kind.place_in(&words).is_some())?;
    let message = format!("the text names {}, and the value is an end of {}", said.name, own.name);
    lint(LintKind::Test, message).filter(|_| own.place_in(&words).is_none())
}

/// Significance in the words and none in the relations, or the other way.
pub(super) fn significance(claim: &LintedClaim<'_>) -> Option<Lint> {
    let words = claim.lower;
    let lexicon = lexicon();
    let said = lexicon.find("significance.words", words);
    let denies = lexicon.has("significance.denied", words)
        || said.is_some_and(|(_, place)| denies_before(words, place.start, DENIED_WITHIN));
    let says = lexicon.has("significance.words", words);
    let has = |list: &str| {
        claim.siblings.iter().chain(claim.trees).any(|tree| calls(tree, lexicon.words(list)))
    };
    let is_replayed = claim.number.is_some() || has("significance.replays");
    if lexicon.has("significance.replayed", words) && !is_replayed {
        let message = "the text says that runs were executed again, and no relation replays them";
        return lint(LintKind::Test, message.to_owned());
    }
    if !says && !denies {
        return None;
    }
    // Where a relation decides, or the p is named as the raw one, the p need not agree with the words.
    let decides =
        claim.siblings.iter().any(|tree| calls(tree, lexicon.words("significance.decides")));
    if !decides
        && !is_raw(claim)
        && let Some(lint) = contradicted_p(claim, says && !denies)
    {
        return Some(lint);
    }
    if !has("significance.tests") && !compares_groups(claim) {
        let message = "the text speaks of significance, and no relation tests it";
        return lint(LintKind::Test, message.to_owned());
    }
    let [tree] = claim.trees else { return None };
    let message = match &tree.kind {
        ExpressionKind::Not(of) if is_call(of, "significant") && says && !denies => {
            "the text says that it is significant, and the relation that it is not"
        }
        _ if is_call(tree, "significant") && denies => {
            "the text says that it is not significant, and the relation that it is"
        }
        _ if lexicon.has("significance.between", words) => {
            "the text names a borderline result, and the relation decides at 5%"
        }
        _ => return None,
    };
    lint(LintKind::Test, message.to_owned())
}

/// A p that decides the other way than the words: "significant (p = 0.057)".
fn contradicted_p(claim: &LintedClaim<'_>, says_significant: bool) -> Option<Lint> {
    let design = claim.provenance.design.as_ref()?;
    let [number] = claim.given else { return None };
    let is_p = matches!(&number.role, NumberRole::P(_));
    let is_significant = number.float < design.alpha;
    if !is_p || is_significant == says_significant {
        return None;
    }
    let side = if is_significant { "below" } else { "not below" };
    lint(LintKind::Test, format!("the text says otherwise, and the p is {side} {}", design.alpha))
}

/// A p that decides nothing, beside words that take it for a proof of equality.
pub(super) fn equality(claim: &LintedClaim<'_>) -> Option<Lint> {
    let alpha = claim.provenance.design.as_ref()?.alpha;
    let [number] = claim.given else { return None };
    let (word, _) = lexicon().find("significance.equal", claim.lower)?;
    let is_p = matches!(&number.role, NumberRole::P(_)) && number.float >= alpha;
    let tests = lexicon().words("significance.tests_equality");
    let is_tested = claim.siblings.iter().any(|tree| calls(tree, tests));
    if !is_p || is_tested {
        return None;
    }
    let message =
        format!("the text says \"{word}\", but a p of {alpha} or more does not show equality");
    lint(LintKind::Test, message)
}

/// Whether a relation between groups of runs is judged by a test.
fn compares_groups(claim: &LintedClaim<'_>) -> bool {
    let is_group = claim.provenance.arms.iter().any(|arm| arm.runs.is_group);
    is_group
        && claim.trees.iter().any(|tree| matches!(tree.kind, ExpressionKind::Relation(..)))
        && !claim.provenance.functions.contains("printed")
}

fn is_call(part: &Expression, function: &str) -> bool {
    matches!(&part.kind, ExpressionKind::Call(name, _) if name == function)
}

/// Whether an expression calls one of these functions.
fn calls(tree: &Expression, functions: &[String]) -> bool {
    let mut found = false;
    tree.each(&mut |part| {
        if let ExpressionKind::Call(name, _) = &part.kind {
            found |= functions.contains(name);
        }
    });
    found
}
