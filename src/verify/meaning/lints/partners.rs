//! Several numbers beside several names: "dense 1.7168, MoE 1.7016". Which name a number goes with is read off their
//! order alone, and only where that has one answer.

use std::ops::Range;
use std::sync::Arc;

use repro_claim::quote::QuoteItem;
use repro_core::decimal::grouped;

use super::sources::said_step_items;
use super::{LintedClaim, Mention};
use crate::arms::ClaimArm;
use crate::lexicon::{lexicon, places_of};

/// A number beside the name of another arm than its own: of the statement, or of the whole post.
pub(super) fn arm(claim: &LintedClaim<'_>) -> Option<String> {
    let [own] = claim.provenance.arms.as_slice() else { return None };
    let of_statement = claim.scope.arms.of(claim.siblings.iter().copied());
    let named = partner(claim, mentions_of(claim, &of_statement)).or_else(|| {
        let mut all = of_statement.clone();
        all.extend(claim.others().iter().filter(|other| own.is_beside(other)).cloned());
        partner(claim, mentions_of(claim, &all))
    })?;
    if named == own.label {
        return None;
    }
    Some(format!("the number is next to {named}, but the value is from {}", own.label))
}

/// Where the quote names arms by words that no other one of them has.
fn mentions_of(claim: &LintedClaim<'_>, arms: &[Arc<ClaimArm>]) -> Vec<Mention<String>> {
    let mut mentions = Vec::new();
    for arm in arms {
        let others = arms.iter().map(Arc::as_ref).filter(|other| other.label != arm.label);
        let others: Vec<&ClaimArm> = others.collect();
        for name in claim.names_of(arm, &others) {
            let places = places_of(claim.lower, &name);
            mentions.extend(places.map(|place| Mention { name: arm.label.clone(), place }));
        }
    }
    mentions
}

/// A number beside another step than its own.
pub(super) fn step(claim: &LintedClaim<'_>) -> Option<String> {
    let own = claim.provenance.only_step()?;
    let named = partner(claim, said_step_items(claim.quote, claim.items))?;
    if named == own {
        return None;
    }
    let [named, own] = [named, own].map(|step| grouped(&step.to_string()));
    Some(format!("the number is next to step {named}, but the value is from step {own}"))
}

/// The name that goes with the number of a claim, where there are as many names as numbers and they alternate, or all
/// of the one stand before all of the other. Numbers of steps are no values.
fn partner<N: PartialEq>(claim: &LintedClaim<'_>, mut mentions: Vec<Mention<N>>) -> Option<N> {
    let number = claim.number?;
    mentions.sort_by_key(|mention| (mention.place.start, usize::MAX - mention.place.end));
    let mut end = 0;
    mentions.retain(|mention| {
        let is_beside = mention.place.start >= end;
        end = end.max(mention.place.end);
        is_beside
    });
    let steps = said_step_items(claim.quote, claim.items);
    let is_value = |item: &QuoteItem| {
        item.number().is_some()
            && item.range_end.is_none()
            && !steps.iter().any(|step| step.place == item.span)
            && !claim.counts_runs(item)
    };
    let bound = claim.bound.iter().map(|(item, _)| *item).filter(|item| is_value(item));
    let numbers: Vec<_> = bound.map(|item| &item.span).collect();
    let at = numbers.iter().position(|place| **place == number.span)?;
    if numbers.len() < 2 || numbers.len() != mentions.len() {
        return None;
    }
    let mut rest = mentions.as_slice();
    while let [first, others @ ..] = rest {
        if others.iter().any(|other| other.name == first.name) {
            return None;
        }
        rest = others;
    }
    let places: Vec<_> = mentions.iter().map(|mention| &mention.place).collect();
    let is_paired = alternate(claim, &places, &numbers)
        || alternate(claim, &numbers, &places)
        || is_list(claim, &places, &numbers)
        || is_list(claim, &numbers, &places);
    is_paired.then(|| mentions.into_iter().nth(at).map(|mention| mention.name))?
}

/// Whether each of the first stands directly before its own of the second: "dense 1.7168, MoE 1.7016".
fn alternate(claim: &LintedClaim<'_>, first: &[&Range<usize>], second: &[&Range<usize>]) -> bool {
    let pairs = || std::iter::zip(first, second);
    let next = first.iter().skip(1).map(Some).chain([None]);
    pairs().all(|(a, b)| a.end <= b.start)
        && std::iter::zip(second, next).all(|(b, next)| match next {
            // "1.7168 of dense, 1.7016": the name that follows is bound to the number before it.
            Some(next) => {
                b.end <= next.start
                    && !lexicon().has("arm.bound_behind", &claim.lower[b.end..next.start])
            }
            None => true,
        })
}

/// Whether all of the first, listed, stand before all of the second: "MoE vs dense: 1.7016 vs 1.7168".
fn is_list(claim: &LintedClaim<'_>, first: &[&Range<usize>], second: &[&Range<usize>]) -> bool {
    let is_joint = |pair: &[&Range<usize>]| {
        let between = claim.lower.get(pair[0].end..pair[1].start).unwrap_or_default();
        let words = between.split(|c: char| c.is_whitespace() || ",/&".contains(c));
        words.filter(|word| !word.is_empty()).all(|word| lexicon().is_in("arm.joints", word))
    };
    let is_before = std::iter::zip(first.last(), second.first()).all(|(a, b)| a.end <= b.start);
    is_before && first.windows(2).all(is_joint)
}
