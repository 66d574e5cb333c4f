//! Groups of claims that are reported together: those of one sentence, and sentences with the same outcome and reason.

use std::collections::HashMap;

use repro_core::source::Code;

use crate::outcome::ClaimReport;
use crate::visible::{prose, visible};
use crate::wording::Remarks;

/// Claims with one verdict on one sentence of the text.
#[derive(Debug, Clone)]
pub(super) struct ToldTogether<'a> {
    /// The first of them.
    pub first: &'a ClaimReport,
    /// The others, in the order of the post.
    pub others: Vec<&'a ClaimReport>,
}

impl<'a> ToldTogether<'a> {
    /// All its claims.
    pub(super) fn claims(&self) -> impl Iterator<Item = &'a ClaimReport> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The words of the text, whole; those of a claim that quotes nothing are its number, or its name.
    pub(super) fn title(&self) -> String {
        let claim = self.first;
        match (claim.quote.trim(), claim.claimed.is_empty()) {
            ("", true) => visible(&claim.id),
            ("", false) => format!("{}: \"{}\"", visible(&claim.id), prose(&claim.claimed)),
            (quote, _) => format!("\"{}\"", prose(quote)),
        }
    }

    /// Its place in the text.
    pub(super) fn place(&self) -> String {
        let at = self.first.at.as_ref();
        at.map_or_else(String::new, |(_, place)| prose(place))
    }

    /// Its claims, those with one reason together.
    pub(super) fn by_reason(&self) -> Vec<Vec<&'a ClaimReport>> {
        let mut groups: Vec<Vec<&ClaimReport>> = Vec::new();
        for claim in self.claims() {
            let same = |group: &&mut Vec<&ClaimReport>| {
                group.first().is_some_and(|first| reason(first) == reason(claim))
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(claim),
                None => groups.push(vec![claim]),
            }
        }
        groups
    }

    /// The notes of the author of the post, each once.
    pub(super) fn notes(&self) -> Vec<&'a str> {
        let mut notes: Vec<&str> = Vec::new();
        for note in self.claims().map(|claim| claim.note.trim()) {
            if !note.is_empty() && !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}

fn reason(claim: &ClaimReport) -> (&str, Option<&str>) {
    (&claim.outcome.reason, claim.outcome.code.map(|code| code.id))
}

/// Claims on one sentence together, in the order of the first claim of each.
pub(super) fn told_together<'a>(claims: &[&'a ClaimReport]) -> Vec<ToldTogether<'a>> {
    let mut groups: Vec<ToldTogether> = Vec::new();
    let mut known = HashMap::new();
    for &claim in claims {
        // What quotes nothing stands alone.
        let key = (!claim.quote.trim().is_empty()).then_some((&claim.quote, &claim.at));
        match key.and_then(|key| known.get(&key).copied()) {
            Some(at) => {
                let told: &mut ToldTogether = &mut groups[at];
                told.others.push(claim);
            }
            None => {
                known.extend(key.map(|key| (key, groups.len())));
                groups.push(ToldTogether { first: claim, others: Vec::new() });
            }
        }
    }
    groups
}

/// Sentences of which the same is said, together, in the order of the first of each.
pub(super) fn clusters<'a>(
    remarks: &Remarks,
    groups: Vec<ToldTogether<'a>>,
) -> Vec<Vec<ToldTogether<'a>>> {
    let mut clusters: Vec<Vec<ToldTogether>> = Vec::new();
    let mut known: HashMap<Vec<_>, usize> = HashMap::new();
    for told in groups {
        let mut key: Vec<_> = told.by_reason().iter().map(|group| reason(group[0])).collect();
        key.sort_unstable();
        let says_nothing = key.iter().all(|(reason, _)| reason.is_empty());
        let has_more = told.claims().any(|claim| !remarks.on(&claim.id).is_empty());
        match known.get(&key).filter(|_| !says_nothing && !has_more) {
            Some(&at) => clusters[at].push(told),
            None => {
                if !has_more {
                    known.insert(key, clusters.len());
                }
                clusters.push(vec![told]);
            }
        }
    }
    clusters
}

/// How many claims have which code, the most frequent first.
pub(super) fn by_code(claims: &[&ClaimReport]) -> Vec<(&'static Code, usize)> {
    let mut counts: Vec<(&'static Code, usize)> = Vec::new();
    for code in claims.iter().filter_map(|claim| claim.outcome.code) {
        match counts.iter_mut().find(|(known, _)| known.id == code.id) {
            Some((_, count)) => *count += 1,
            None => counts.push((code, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
