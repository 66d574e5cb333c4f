//! Names that evidence and relations have: in words that lack them, or deny them.

use repro_claim::Expression;
use repro_claim::syntax::{ExpressionKind, RelationOperator};
use repro_report::meaning::Reading;

use super::LintedClaim;
use crate::lexicon::lexicon;
use crate::names;

/// A name that a relation compares with evidence, and that the words do not have.
pub(super) fn unsaid(claim: &LintedClaim<'_>) -> Option<String> {
    let around = [Some(claim.quote), claim.head, claim.row, Some(claim.context)];
    let has = |name: &str| around.into_iter().flatten().any(|text| names::stands_in(text, name));
    let name = held(claim.trees).find(|name| !has(name))?;
    Some(format!("the relation contains \"{name}\", but the text does not"))
}

/// Words that deny what the claim affirms of a name or of equality: "not trained in float32".
pub(super) fn denied(claim: &LintedClaim<'_>) -> Option<String> {
    let [tree] = claim.trees else { return None };
    let is_affirmed = match &tree.kind {
        ExpressionKind::Call(name, _) => {
            matches!(name.as_str(), "held_fixed" | "nearly_fixed" | "same")
        }
        ExpressionKind::Relation(_, rest) => {
            matches!(rest.as_slice(), [(RelationOperator::Equal, side)] if !is_false(side))
        }
        ExpressionKind::Field(..) | ExpressionKind::Name(_) => claim.given.is_empty(),
        _ => false,
    };
    let (word, place) = lexicon().find("direction.negates", claim.lower)?;
    // "No longer than" and "do not differ" deny no equality.
    let behind = claim.lower.get(place.end..).unwrap_or_default();
    let mut stems = lexicon().words("direction.differs").iter();
    let denies_a_difference = stems.any(|stem| behind.contains(stem.as_str()));
    if !is_affirmed || denies_a_difference || claim.head.is_some() || !claim.items.is_empty() {
        return None;
    }
    Some(format!("the text contains \"{word}\", but the fact affirms it"))
}

/// A number that the words deny: "the loss is not 1.7016", "does not reach 1.70".
pub(super) fn denied_number(claim: &LintedClaim<'_>) -> Option<String> {
    // "Does not reach 34%" states a limit, where it is declared as one.
    claim.number?;
    if claim.declared.is_some_and(Reading::is_limit) {
        return None;
    }
    let mut words = claim.before().split_whitespace().rev();
    let denies = |word: &&str| lexicon().is_in("direction.negates", word);
    let last = words.next()?;
    let is_elsewhere =
        ["step.elsewhere", "direction.denied_else"].iter().any(|list| lexicon().is_in(list, last));
    let verb = words.next().filter(denies).filter(|_| !is_elsewhere);
    let word = Some(last).filter(denies).or(verb)?;
    Some(format!("the text contains \"{word}\", but the fact affirms the number"))
}

/// Whether a side is what words deny: false, or none.
fn is_false(side: &Expression) -> bool {
    match &side.kind {
        ExpressionKind::Name(name) => name == "false",
        ExpressionKind::Number(text) => text == "0",
        _ => false,
    }
}

/// The names in quotation marks that relations compare with something.
fn held<'e>(trees: &[&'e Expression]) -> impl Iterator<Item = &'e str> {
    let relations = trees.iter().filter(|tree| tree.is_relation());
    relations.flat_map(|tree| tree.parts()).filter_map(|side| match &side.kind {
        ExpressionKind::Text(name) => Some(name.as_str()),
        _ => None,
    })
}
