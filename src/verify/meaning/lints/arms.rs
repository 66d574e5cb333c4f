//! The arm of a value: names of the post, of its receipts and of its text, and the kind of model.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use repro_bundle::bundle::Origin;
use repro_claim::locator::Locator;

use super::{LintedClaim, spellings};
use crate::arms::{ClaimArm, plain, shared};
use crate::lexicon::{lexicon, place_of, plain_words};
use crate::page::path_of;

/// A value of another arm than the words name.
pub(super) fn arm(claim: &LintedClaim<'_>) -> Option<String> {
    let own = own_arms(claim)?;
    let clause = clause_of(claim)?;
    let siblings = claim.scope.arms.of(claim.siblings.iter().copied());
    // What a single arm is compared with is no arm of its value.
    let parts = |arm: &ClaimArm| arm.parts.iter().cloned().collect::<BTreeSet<_>>();
    let is_of_one = || {
        siblings.iter().all(|arm| {
            parts(arm) == parts(own[0]) && (!parts(arm).is_empty() || arm.is_within(own[0]))
        })
    };
    let has_others = claim.items.len() > 1 && claim.number.is_some() && !is_of_one();
    let is_difference = own.len() > 1;
    // Where several arms are spoken of, one that no number is of is in for an own one without a name.
    let stands_in = has_others && are_unnamed(claim, &own, &siblings);
    if !is_difference && (has_others && !stands_in || lexicon().has("arm.compares", clause)) {
        return None;
    }
    // What a formula is given may be any part of an arm.
    let page = claim.scope.page;
    let mut formulas = claim.provenance.functions.iter().filter_map(|name| page.formulas.get(name));
    if formulas.any(|formula| !formula.parameters.is_empty()) {
        return None;
    }
    let said_of: BTreeSet<&String> = siblings
        .iter()
        .map(Arc::as_ref)
        .chain(own.iter().copied())
        .flat_map(|arm| &arm.parts)
        .collect();
    let is_of_sibling = |other: &ClaimArm| siblings.iter().any(|arm| arm.label == other.label);
    let named =
        claim.others().iter().filter(|other| !(stands_in && is_of_sibling(other))).find(|other| {
            own.iter().any(|own| {
                (!is_difference || own.is_beside(other))
                    && names(claim, clause, own, other, &said_of)
            })
        });
    let Some(named) = named else {
        let is_single = !is_difference && !stands_in;
        return is_single.then(|| kind_of_another(&own, clause)).flatten();
    };
    Some(format!("the text mentions {}, but the value is from {}", named.label, labels(&own)))
}

/// The arms of a value; none of a value of no arm.
fn own_arms<'c>(claim: &LintedClaim<'c>) -> Option<Vec<&'c ClaimArm>> {
    let arms = &claim.provenance.arms;
    (!arms.is_empty()).then(|| arms.iter().map(Arc::as_ref).collect())
}

/// A number of no arm, of which the words say that it is of one alone: "the mixture alone" over all planned runs.
pub(super) fn alone(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number.filter(|_| claim.provenance.arms.is_empty())?;
    let (word, _) = lexicon().find("arm.alone", claim.lower)?;
    let is_named = |other: &&Arc<ClaimArm>| claim.mention(other, &[], claim.lower).is_some();
    let named = claim.others().iter().find(is_named)?;
    Some(format!("the text uses \"{word}\" for {}, but the value is from no arm", named.label))
}

/// Whether the quote has no name of the own arms, nor a part of one that no other arm of the statement has.
fn are_unnamed(claim: &LintedClaim<'_>, own: &[&ClaimArm], siblings: &[Arc<ClaimArm>]) -> bool {
    let others: Vec<&ClaimArm> =
        siblings.iter().map(Arc::as_ref).filter(|arm| !own.contains(arm)).collect();
    let theirs: Vec<&String> = others.iter().flat_map(|arm| &arm.parts).collect();
    own.iter().all(|arm| {
        // "Qwen2.5-3B" has the name of `qwen` as a part.
        let (said, unsaid): (Vec<_>, Vec<_>) =
            arm.parts.iter().partition(|part| claim.lower.contains(part.as_str()));
        claim.mention(arm, &others, claim.lower).is_none()
            && !unsaid.is_empty()
            && said.iter().all(|part| theirs.contains(part))
    })
}

/// The answer of [`LintedClaim::others`].
pub(super) fn others(claim: &LintedClaim<'_>) -> Vec<Arc<ClaimArm>> {
    let own = &claim.provenance.arms;
    let alike = claim.scope.page.names.iter().filter(|(_, (locator, _))| is_alike(claim, locator));
    let names = alike.filter_map(|(name, _)| claim.scope.arms.named(name).cloned());
    // Lanes are parts of the documents that the own arms are of, with a field that was read.
    let is_beside = |lane: &&Arc<ClaimArm>| {
        let document = lane.runs.bundles.first();
        own.iter().flat_map(|arm| &arm.runs.bundles).any(|bundle| document == Some(bundle))
    };
    let lanes = claim.provenance.fields.iter().flat_map(|field| claim.scope.arms.lanes_with(field));
    let lanes = lanes.filter(is_beside).cloned();
    let is_other = |arm: &Arc<ClaimArm>| !own.iter().any(|own| own.is_within(arm));
    names.chain(lanes).filter(is_other).collect()
}

/// Whether words name another arm and not the own one. `said_of` are the parts of all names that the statement uses.
fn names(
    claim: &LintedClaim<'_>,
    clause: &str,
    own: &ClaimArm,
    other: &ClaimArm,
    said_of: &BTreeSet<&String>,
) -> bool {
    let mine: BTreeSet<&String> = own.parts.iter().collect();
    let theirs: BTreeSet<&String> = other.parts.iter().collect();
    // "Dense" is not a name of another arm where the own one is dense.
    let own_kinds: Vec<&String> =
        claim.provenance.arms.iter().flat_map(|own| own.kind_words()).collect();
    let mut extra = theirs.difference(said_of).filter(|part| !own_kinds.contains(*part)).peekable();
    let adds = extra.peek().is_some() && extra.all(|part| stands_in(part, clause));
    let called = claim.called(other, &[own]).find_map(|name| place_of(clause, name));
    // "long budget" names `long.moe` beside `moe`.
    if adds && !mine.is_empty() && mine.is_subset(&theirs) {
        return true;
    }
    if !own.is_beside(other) {
        return false;
    }
    let Some(place) = claim.mention(own, &[other], clause) else {
        return adds || called.is_some();
    };
    // "The wide dense model" is called so by the longer of two names.
    called.is_some_and(|called| called.start <= place.start && place.end <= called.end)
}

/// Whether a text has a part of a name in one of its spellings.
fn stands_in(part: &str, text: &str) -> bool {
    spellings(part).iter().any(|name| place_of(text, name).is_some())
}

/// The part of the quote, between semicolons, in which the number stands.
fn clause_of<'c>(claim: &LintedClaim<'c>) -> Option<&'c str> {
    let Some(number) = claim.number.map(|item| &item.span) else { return Some(claim.lower) };
    claim.lower.split([';', '\n']).find(|part| {
        let from = part.as_ptr() as usize - claim.lower.as_ptr() as usize;
        number.start >= from && number.end <= from + part.len()
    })
}

/// Whether a name of the post may be an arm as the own one is: it has a field that was read.
fn is_alike(claim: &LintedClaim<'_>, locator: &Locator) -> bool {
    let library = claim.scope.library;
    let Some(bundle) = locator.bundles.first().and_then(|name| library.bundle(name)) else {
        return false;
    };
    let is_run = bundle.origin() == Origin::Emitted;
    let mut fields = claim.provenance.fields.iter();
    let has_fact = |field: &String| {
        let id: Vec<_> = locator.path.iter().chain([field]).map(String::as_str).collect();
        bundle.fact(&id.join(".")).is_some()
    };
    let names = &claim.scope.page.names;
    let is_of_file =
        |arm: &Arc<ClaimArm>| names.get(&arm.label).is_some_and(|(own, _)| own.file.is_some());
    // Files are held against files.
    if claim.provenance.arms.iter().all(is_of_file) {
        return locator.file.is_some();
    }
    is_run || fields.any(has_fact)
}

/// A row whose first cell is the name, or the kind, of another arm.
pub(super) fn row(claim: &LintedClaim<'_>) -> Option<String> {
    let (own, row) = (own_arms(claim)?, claim.row?.to_lowercase());
    let name = plain(&row);
    let mut labels_of_own = own.iter().map(|arm| &arm.plain);
    // Lanes of a document are named behind it: `fp8.dense`.
    let of_row = claim.scope.variables.values().map(|variable| &variable.tree);
    let mut parts_of_row = of_row.filter_map(path_of).flatten();
    let is_own = labels_of_own.any(|label| label.contains(&name) || name.contains(label.as_str()))
        || parts_of_row.any(|part| plain(&part) == name);
    let is_named = |other: &&Arc<ClaimArm>| match own.as_slice() {
        [own] => own.is_beside(other) && names(claim, &row, own, other, &BTreeSet::new()),
        _ => false,
    };
    let other = claim.scope.arms.all().find(|other| other.plain == name);
    let other = other.or_else(|| claim.others().iter().find(is_named));
    let Some(other) = other.filter(|_| !is_own && !name.is_empty()) else {
        return kind_of_another(&own, &row);
    };
    Some(format!("the row is for {}, but the value is from {}", other.label, labels(&own)))
}

/// A dense model that the words call a mixture, or the other way.
fn kind_of_another(own: &[&ClaimArm], clause: &str) -> Option<String> {
    if own.iter().any(|arm| arm.parts.iter().any(|part| place_of(clause, part).is_some())) {
        return None;
    }
    let is_mixture = shared(own.iter().map(|arm| arm.runs.is_mixture))?;
    let is_part = |place: &Range<usize>| {
        let next = plain_words(&clause[place.end..]).next();
        next.is_some_and(|next| lexicon().is_in("arm.dense_parts", next))
    };
    let dense = lexicon().find("arm.dense", clause).filter(|(_, place)| !is_part(place));
    let sparse = lexicon().find("arm.sparse", clause);
    let word = match (dense, sparse, is_mixture) {
        (Some((word, _)), None, true) | (None, Some((word, _)), false) => word,
        _ => return None,
    };
    let kind = if is_mixture { "a mixture" } else { "a dense model" };
    Some(format!("the text contains \"{word}\", but {} is {kind}", labels(own)))
}

fn labels(arms: &[&ClaimArm]) -> String {
    arms.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>().join(", ")
}
